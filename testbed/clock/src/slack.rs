//! Timer slack: how late Linux may wake a sleeping thread so as to batch wake-ups.

/// Asks the operating system to wake the calling thread as close to its deadlines as it can.
///
/// On Linux this lowers the thread's timer slack from 50 us to 1 ns; elsewhere it does nothing. It
/// is a wish: a refusal leaves timers coarser, not wrong.
pub fn set_fine_timer_slack() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_slack_becomes_one_nanosecond() {
        set_fine_timer_slack();
        assert_eq!(rustix::thread::current_timer_slack().unwrap(), 1);
    }
}
