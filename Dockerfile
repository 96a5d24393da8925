# The image of Windtunnel: docker build -t windtunnel .
#
# Nothing here needs BuildKit: Debian's docker.io still has the classic builder only.

# The manifests of all crates, with sources that are empty. Whatever else changes in the sources, this
# comes out the same, so the next stage's dependencies stay in the cache.
FROM debian:bookworm-slim AS manifests
WORKDIR /src
COPY . .
RUN find . -type f ! -name Cargo.toml ! -name Cargo.lock \
        ! -path '*/src/lib.rs' ! -path '*/src/main.rs' ! -path '*/benches/*.rs' ! -name build.rs -delete \
    && find . -type d -empty -delete \
    && find . -name '*.rs' -exec sh -c 'for file; do echo "fn main() { }" >"$file"; done' empty {} + \
    && find . -name lib.rs -exec truncate --size 0 {} +

FROM rust:1.95-slim-bookworm AS build
# Cargo features of the binary, separated by commas, beside the default ones.
ARG FEATURES=toxiproxy
# The client of a real Toxiproxy brings OpenSSL along.
RUN case ",$FEATURES," in *,toxiproxy,*) \
        apt-get update \
        && apt-get install --yes --no-install-recommends libssl-dev pkg-config \
        && rm -rf /var/lib/apt/lists/* ;; \
    esac
WORKDIR /src
COPY --from=manifests /src ./
# What was built of the empty sources goes again: the real ones may be older than it, and cargo would
# take it for theirs.
RUN cargo build --release --locked --package testbed ${FEATURES:+--features "$FEATURES"} \
    && cargo clean --release --workspace
# Crates by name, so that an edited experiment compiles nothing.
COPY faults faults
COPY testbed testbed
RUN cargo build --release --locked --package testbed ${FEATURES:+--features "$FEATURES"}

FROM debian:bookworm-slim
ARG FEATURES=toxiproxy
RUN case ",$FEATURES," in *,toxiproxy,*) \
        apt-get update \
        && apt-get install --yes --no-install-recommends ca-certificates libssl3 \
        && rm -rf /var/lib/apt/lists/* ;; \
    esac
WORKDIR /windtunnel
# A run leaves its directory here, with a volume or without.
RUN mkdir runs && chown 10001:10001 runs
COPY --from=build /src/target/release/windtunnel /usr/local/bin/windtunnel
COPY experiments experiments
USER 10001:10001
EXPOSE 9464
LABEL org.opencontainers.image.title="Windtunnel" \
      org.opencontainers.image.description="A testbed for concurrency controllers and rate limiters" \
      org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["/usr/local/bin/windtunnel"]
CMD ["--help"]
