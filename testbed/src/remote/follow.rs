//! What a run on a server looks like here.

use crate::experiment::file::Mode;
use crate::serve::wire::{End, Message, RunInfo, at};
use crate::watch::view::View;
use testbed_core::event::Event;
use testbed_core::observe::Observer as _;

/// Shows the messages of one run, each once, however often they are told from the beginning.
#[derive(Debug)]
pub(super) struct Follower {
    quiet: bool,
    view: Option<View>,
    /// The place in the run of the message that comes next.
    next: u64,
    /// The place of the first that was not shown.
    unseen: u64,
}

impl Follower {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, view: None, next: 0, unseen: 0 }
    }

    /// Takes a message in; the run's end, if it is that.
    pub(super) fn take(&mut self, message: Message) -> Option<End> {
        match message {
            Message::Run(info) => self.begin(&info),
            // The connection begins anew.
            Message::Dropped => {}
            message => {
                self.next += 1;
                if self.next > self.unseen {
                    self.unseen = self.next;
                    return self.show(message);
                }
            }
        }
        None
    }

    fn begin(&mut self, info: &RunInfo) {
        self.next = info.forgotten;
        if self.quiet || self.view.is_some() {
            return;
        }
        self.view = Some(View::new(info.mode == Mode::Live, &info.labels(), info.length()));
        if info.forgotten > 0 {
            self.catch_up(info);
        }
    }

    /// Whoever comes late has not seen what is on.
    fn catch_up(&mut self, info: &RunInfo) {
        let t_ns = info.t_ns;
        self.show(Message::Phase { t_ns, phase: info.phase.clone() });
        for fault in &info.faults {
            self.show(Message::Fault { t_ns, fault: fault.clone(), on: true });
        }
    }

    fn show(&mut self, message: Message) -> Option<End> {
        match (&mut self.view, message) {
            (view, Message::End(end)) => {
                // It clears its lines before the verdict is printed.
                if let Some(mut view) = view.take() {
                    view.on_event(at(0), &Event::End);
                }
                return Some(end);
            }
            (Some(view), Message::Phase { t_ns, phase }) => {
                view.on_event(at(t_ns), &Event::Phase { index: 0, name: &phase });
            }
            (Some(view), Message::Fault { t_ns, fault, on }) => {
                view.on_event(at(t_ns), &Event::Fault { index: 0, name: &fault, on });
            }
            (Some(view), Message::States { t_ns, arms }) => view.show(at(t_ns), &arms),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::wire::State;

    #[test]
    fn messages_that_are_told_again_are_not_shown_again() {
        let text = String::new();
        let end = End { state: State::Finished, exit_code: 0, verdict: None, text, error: None };
        let phase = || Message::Phase { t_ns: 0, phase: "p".into() };
        let mut follower = Follower::new(true);
        for (message, next, unseen) in
            [(phase(), 1, 1), (phase(), 2, 2), (Message::Dropped, 2, 2), (phase(), 3, 3)]
        {
            assert_eq!(follower.take(message), None);
            assert_eq!((follower.next, follower.unseen), (next, unseen));
        }
        follower.next = 1;
        for unseen in [3, 3, 4] {
            assert_eq!(follower.take(phase()), None);
            assert_eq!(follower.unseen, unseen);
        }
        assert_eq!(follower.take(Message::End(end.clone())), Some(end));
    }
}
