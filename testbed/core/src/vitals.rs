//! Vitals: how a law shows its inner numbers without naming a metric.
//!
//! Whatever a law puts here appears as the series `controller.<name>`, as a metric and in the
//! journal, with no edit anywhere else.

/// The unit of a number that is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A ratio; 1 is the whole.
    Ratio,
    /// Requests.
    Requests,
    /// Requests per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// A count of events since the run began.
    Count,
}

impl Unit {
    /// The unit in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Ratio => "ratio",
            Self::Requests => "requests",
            Self::PerSecond => "requests/s",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::Count => "count",
        }
    }
}

/// What a law says of one of its inner numbers, once and for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VitalInfo {
    /// Its name: lower case, words joined by underscores.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// What it is, in one line.
    pub about: &'static str,
}

/// One inner number of a law at one instant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vital {
    /// The name, one of the law's [`VitalInfo`]s.
    pub name: &'static str,
    /// The value, in the unit stated there.
    pub value: f64,
}

/// The inner numbers of a law at one instant; at most [`Vitals::MAX`], which bounds the series.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Vitals {
    items: Vec<Vital>,
}

impl Vitals {
    /// The most vitals that a law may have.
    pub const MAX: usize = 16;

    /// Room for [`Vitals::MAX`] vitals, so that filling it never allocates.
    pub fn new() -> Self {
        Self { items: Vec::with_capacity(Self::MAX) }
    }

    /// Adds a vital. A law leaves out what it does not know yet.
    ///
    /// # Panics
    /// When the law has more than [`Vitals::MAX`] vitals: a mistake in the law.
    pub fn push(&mut self, name: &'static str, value: f64) {
        assert!(self.items.len() < Self::MAX, "a law has at most {} vitals", Self::MAX);
        self.items.push(Vital { name, value });
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// The value of the vital called `name`, if the law knows it.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.items.iter().find(|vital| vital.name == name).map(|vital| vital.value)
    }

    /// All vitals, in the law's own order.
    pub fn iter(&self) -> std::slice::Iter<'_, Vital> {
        self.items.iter()
    }
}

impl<'a> IntoIterator for &'a Vitals {
    type Item = &'a Vital;
    type IntoIter = std::slice::Iter<'a, Vital>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
