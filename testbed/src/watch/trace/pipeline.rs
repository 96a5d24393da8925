//! From a span that has ended to the collector: OpenTelemetry's batch processor and its thread, with
//! counts around them. Whatever the collector does, nobody waits for it but that thread.

use super::ids::NextIds;
use super::retime::{Origin, retime};
use crate::traces::{Collector, NoTraces};
use crate::watch::spans::{SpanCounts, SpanLedger};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter as OtlpExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, Span, SpanData,
    SpanExporter, SpanProcessor,
};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Spans that may be on their way: some 10 MB, and seconds of the most that is chosen.
const ROOM: u64 = 16_384;
/// Beyond it no request gets a trace; the rest is for the spans of the run.
pub(super) const ROOM_FOR_REQUESTS: u64 = ROOM - 1024;
/// Spans in one call of the collector.
const BATCH: usize = 1024;
/// How long a span waits for company. It is also how old a trace is when it can be found.
const DELAY: Duration = Duration::from_millis(500);
/// How long one call of the collector may take.
const CALL: Duration = Duration::from_secs(1);
/// How long the end of a run may wait for the collector.
const STOP: Duration = Duration::from_secs(1);

/// The way of spans to the collector.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) provider: SdkTracerProvider,
    ledger: SpanLedger,
}

impl Pipeline {
    /// A way to `collector` for spans of the run called `run`. Spans that say at which time of the run
    /// they began are placed by it, from `origin` on.
    pub(super) fn start(
        collector: &Collector,
        run: &str,
        ids: NextIds,
        origin: Origin,
        ledger: SpanLedger,
    ) -> Result<Self, NoTraces> {
        let otlp = OtlpExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(collector.traces_url())
            .with_timeout(CALL)
            .build()
            .map_err(|error| NoTraces::Exporter(error.to_string()))?;
        let exporter = CountedExporter { otlp, ledger: ledger.clone() };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(ROOM as usize)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(DELAY)
            .build();
        let batches = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::AlwaysOn)
            .with_id_generator(ids)
            .with_resource(resource(run))
            .with_span_processor(CountedProcessor { batches, origin, ledger: ledger.clone() })
            .build();
        Ok(Self { provider, ledger })
    }

    /// Sends what is on its way, for a second at most. The counts, and what the first failure was.
    pub(super) fn stop(self) -> (SpanCounts, Option<String>) {
        let (stopped, has_stopped) = channel();
        let provider = self.provider;
        let shut_down = move || {
            // It says that all is well when all is lost, so it is not asked.
            let _ = provider.shutdown_with_timeout(STOP);
            let _ = stopped.send(());
        };
        if thread::Builder::new().name("traces-stop".into()).spawn(shut_down).is_ok() {
            let _ = has_stopped.recv_timeout(STOP);
        }
        self.ledger.close()
    }
}

fn resource(run: &str) -> Resource {
    Resource::builder_empty()
        .with_service_name("windtunnel")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", run.to_owned()))
        .build()
}

/// Counts what the collector took.
#[derive(Debug)]
struct CountedExporter {
    otlp: OtlpExporter,
    ledger: SpanLedger,
}

impl SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        // After the end of its run the thread has nothing to wait for any more.
        if self.ledger.is_closed() {
            return Err(OTelSdkError::AlreadyShutdown);
        }
        let spans = batch.len() as u64;
        let exported = self.otlp.export(batch).await;
        self.ledger.settle(spans, exported.as_ref().err().map(ToString::to_string));
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.otlp.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.otlp.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.otlp.set_resource(resource);
    }
}

/// Counts what has ended. No more is let in than the queue behind it can hold, so that one drops nothing.
#[derive(Debug)]
struct CountedProcessor {
    batches: BatchSpanProcessor,
    origin: Origin,
    ledger: SpanLedger,
}

impl SpanProcessor for CountedProcessor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        retime(&mut span, &self.origin);
        if self.ledger.take_in(1, ROOM) {
            self.batches.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}
