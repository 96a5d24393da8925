//! The one place that reads the operating system's time.
