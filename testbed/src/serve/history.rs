//! What was told of a run, for readers at their own pace. Telling never waits for a reader: who
//! falls so far behind that what it has not read is forgotten, is let go and counted.

use super::wire::{End, Message, RunInfo};
use crate::page::Past;
use crate::watch::server::ServerMetrics;
use hyper::body::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes of messages that are kept of a run: minutes at ten a second.
const KEPT_BYTES: usize = 256 * 1024;
/// Readers of one run at a time.
const READERS: usize = 32;

/// The messages of one run. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct History {
    log: Arc<Mutex<Log>>,
}

/// Reads the messages of one run, from the oldest that is kept.
#[derive(Debug)]
pub(crate) struct Reader {
    log: Arc<Mutex<Log>>,
    id: u64,
    /// What it is given before the rest: the run as it was when it came, and what was kept then. That is its
    /// own: else what is told next would push out the first of it, and it would be let go as it comes.
    before: VecDeque<Bytes>,
    over: bool,
}

#[derive(Debug)]
struct Log {
    info: RunInfo,
    /// All messages, thinned.
    past: Past,
    kept: VecDeque<Bytes>,
    bytes: usize,
    bytes_max: usize,
    readers: BTreeMap<u64, Place>,
    next_reader: u64,
    metrics: ServerMetrics,
}

/// Where a reader is, counted in messages of the run.
#[derive(Debug)]
struct Place {
    next: u64,
    waker: Option<Waker>,
}

impl History {
    pub(crate) fn new(info: RunInfo, metrics: ServerMetrics) -> Self {
        Self::with_room(info, KEPT_BYTES, metrics)
    }

    fn with_room(info: RunInfo, bytes_max: usize, metrics: ServerMetrics) -> Self {
        let (kept, readers) = (VecDeque::new(), BTreeMap::new());
        let past = Past::default();
        let log = Log { info, past, kept, bytes: 0, bytes_max, readers, next_reader: 0, metrics };
        Self { log: Arc::new(Mutex::new(log)) }
    }

    /// The run as it is.
    pub(crate) fn info(&self) -> RunInfo {
        lock(&self.log).info.clone()
    }

    /// All that was told so far, thinned.
    pub(crate) fn past(&self) -> Past {
        lock(&self.log).past.clone()
    }

    /// Tells a message to whoever reads or will read.
    pub(crate) fn tell(&self, message: &Message) {
        let frame = Bytes::from(message.frame());
        let wakers = lock(&self.log).tell(message, frame);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Tells that the run is over. Nothing may be told after that.
    pub(crate) fn end(&self, end: End) {
        self.tell(&Message::End(end));
    }

    /// A new reader; none if there are as many as may be.
    pub(crate) fn reader(&self) -> Option<Reader> {
        let mut log = lock(&self.log);
        if log.readers.len() >= READERS {
            return None;
        }
        let mut before = log.kept.clone();
        before.push_front(Message::Run(Box::new(log.info.clone())).frame().into());
        let (id, next) = (log.next_reader, log.info.forgotten + log.kept.len() as u64);
        log.next_reader += 1;
        log.readers.insert(id, Place { next, waker: None });
        Some(Reader { log: Arc::clone(&self.log), id, before, over: false })
    }

    /// How many read at present.
    pub(crate) fn readers(&self) -> usize {
        lock(&self.log).readers.len()
    }
}

impl Reader {
    /// The next message as a server-sent event; `None` after the last.
    pub(crate) fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Bytes>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut log = lock(&self.log);
        let Some((next, oldest)) =
            log.readers.get(&self.id).map(|at| (at.next, log.info.forgotten))
        else {
            self.over = true;
            return Poll::Ready(Some(Message::Dropped.frame().into()));
        };
        if let Some(frame) = self.before.pop_front() {
            return Poll::Ready(Some(frame));
        }
        let message = log.kept.get((next - oldest) as usize).cloned();
        let over = log.info.is_over();
        if let Some(place) = log.readers.get_mut(&self.id) {
            match &message {
                Some(_) => place.next += 1,
                None => place.waker = Some(context.waker().clone()),
            }
        }
        match message {
            None if over => Poll::Ready(None),
            None => Poll::Pending,
            message => Poll::Ready(message),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.log).readers.remove(&self.id);
    }
}

impl Log {
    /// Whom to wake.
    fn tell(&mut self, message: &Message, frame: Bytes) -> Vec<Waker> {
        self.info.note(message);
        self.past.note(message);
        self.bytes += frame.len();
        self.kept.push_back(frame);
        while self.bytes > self.bytes_max && self.kept.len() > 1 {
            self.forget();
        }
        let wakers = self.readers.values_mut().filter_map(|place| place.waker.take()).collect();
        self.let_go();
        wakers
    }

    fn forget(&mut self) {
        let oldest = self.kept.pop_front();
        self.bytes -= oldest.map_or(0, |frame| frame.len());
        self.info.forgotten += 1;
    }

    fn let_go(&mut self) {
        let (oldest, before) = (self.info.forgotten, self.readers.len());
        self.readers.retain(|_, place| place.next >= oldest);
        let dropped = (before - self.readers.len()) as u64;
        self.info.readers_dropped += dropped;
        self.metrics.readers_dropped(dropped);
    }
}

/// Nothing that can panic runs under this lock.
fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::wire::{State, example};
    use super::*;

    fn phase(number: u64) -> Message {
        Message::Phase { t_ns: number, phase: "p".into() }
    }

    /// A history with room for so many phases.
    fn history(phases: usize) -> History {
        let room = phases * phase(0).frame().len();
        History::with_room(example(), room, ServerMetrics::default())
    }

    fn end() -> End {
        let text = String::new();
        End { state: State::Finished, exit_code: 0, verdict: None, text, error: None }
    }

    /// The names of what can be read now, `.` if there will be more.
    fn read(reader: &mut Reader) -> String {
        let context = Context::from_waker(Waker::noop());
        let mut names = Vec::new();
        loop {
            match reader.poll_next(&context) {
                Poll::Pending => return names.join(" ") + ".",
                Poll::Ready(None) => return names.join(" "),
                Poll::Ready(Some(frame)) => {
                    let text = String::from_utf8(frame.to_vec()).unwrap();
                    let name = text.strip_prefix("event: ").unwrap().split_once('\n').unwrap().0;
                    names.push(name.to_owned());
                }
            }
        }
    }

    #[test]
    fn a_reader_gets_the_past_then_what_comes_then_the_end() {
        let history = history(9);
        history.tell(&phase(0));
        history.tell(&phase(1));
        let mut reader = history.reader().unwrap();
        assert_eq!(read(&mut reader), "run phase phase.");
        history.tell(&phase(2));
        assert_eq!(read(&mut reader), "phase.");
        history.end(end());
        assert_eq!(read(&mut reader), "end");
        assert_eq!(read(&mut reader), "");
        assert_eq!(read(&mut history.reader().unwrap()), "run phase phase phase end");
        assert_eq!(history.info().state, State::Finished);
        assert_eq!(history.info().readers_dropped, 0);
    }

    #[test]
    fn the_past_is_bounded_and_what_is_forgotten_is_counted() {
        let history = history(3);
        (0..9).for_each(|number| history.tell(&phase(number)));
        assert_eq!(history.info().forgotten, 6);
        assert_eq!(read(&mut history.reader().unwrap()), "run phase phase phase.");
    }

    #[test]
    fn one_message_is_kept_however_long_it_is() {
        let history = History::with_room(example(), 1, ServerMetrics::default());
        (0..2).for_each(|number| history.tell(&phase(number)));
        assert_eq!(read(&mut history.reader().unwrap()), "run phase.");
    }

    #[test]
    fn a_reader_that_comes_when_all_room_is_taken_misses_nothing_of_what_is_told_next() {
        let history = history(3);
        (0..5).for_each(|number| history.tell(&phase(number)));
        let mut reader = history.reader().unwrap();
        (5..8).for_each(|number| history.tell(&phase(number)));
        assert_eq!(read(&mut reader), "run phase phase phase phase phase phase.");
        assert_eq!(history.info().readers_dropped, 0);
    }

    #[test]
    fn who_is_let_go_is_not_told_what_it_has_missed() {
        let history = history(3);
        (0..3).for_each(|number| history.tell(&phase(number)));
        let mut slow = history.reader().unwrap();
        (3..7).for_each(|number| history.tell(&phase(number)));
        assert_eq!(read(&mut slow), "dropped");
        assert_eq!(history.info().readers_dropped, 1);
    }

    #[test]
    fn who_reads_too_slowly_is_let_go_and_counted_and_nobody_else_is() {
        let history = history(3);
        let (mut slow, mut quick) = (history.reader().unwrap(), history.reader().unwrap());
        assert_eq!(read(&mut slow), "run.");
        assert_eq!(read(&mut quick), "run.");
        for number in 0..3 {
            history.tell(&phase(number));
            assert_eq!(read(&mut quick), "phase.");
        }
        assert_eq!((history.readers(), history.info().readers_dropped), (2, 0));
        history.tell(&phase(3));
        assert_eq!((history.readers(), history.info().readers_dropped), (1, 1));
        assert_eq!(read(&mut slow), "dropped");
        assert_eq!(read(&mut slow), "");
        assert_eq!(read(&mut quick), "phase.");
    }

    #[test]
    fn a_reader_that_waits_is_woken_by_what_is_told() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        struct Count(AtomicUsize);
        impl std::task::Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let history = history(9);
        let mut reader = history.reader().unwrap();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let context = Context::from_waker(&waker);
        assert!(reader.poll_next(&context).is_ready());
        history.tell(&phase(0));
        assert_eq!(count.0.load(SeqCst), 0, "it does not wait");
        assert!(reader.poll_next(&context).is_ready());
        assert!(reader.poll_next(&context).is_pending());
        history.tell(&phase(1));
        assert_eq!(count.0.load(SeqCst), 1);
    }

    #[test]
    fn readers_are_bounded_and_leave_their_places() {
        let history = history(9);
        let mut readers: Vec<_> = (0..READERS).map(|_| history.reader().unwrap()).collect();
        assert!(history.reader().is_none());
        readers.pop();
        assert!(history.reader().is_some());
        drop(readers);
        assert_eq!(history.readers(), 0);
    }
}
