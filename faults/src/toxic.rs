//! Toxics: the kinds of fault that a link can have, with Toxiproxy's names and attributes.
//!
//! To add a kind: copy `toxic/noop.rs` to `toxic/<name>.rs`, and add one line to the registry
//! below. It then appears in files, schema, lists and the conformance suite.

mod attribute;
mod rate;

pub use attribute::{AttributeError, LONGEST};
pub use rate::LinkRate;
pub use wave::Shape;

use crate::chain::{Item, Output, Payload};
use attribute::Attributes;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt::Debug;
use testbed_core::quantity::Share;
use testbed_core::time::Time;

/// A direction of a connection.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// From the client to the server: requests.
    Upstream,
    /// From the server to the client: answers.
    #[default]
    Downstream,
}

impl Stream {
    /// The stream's name, as files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Downstream => "downstream",
        }
    }
}

/// One fault on one direction of a proxy's connections, such as
/// `{ latency: { latency: 40ms, jitter: 10ms }, toxicity: 50% }`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Toxic {
    /// Its name, one of a kind on its proxy; `<kind>_<stream>` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The direction that it acts on.
    #[serde(default)]
    pub stream: Stream,
    /// The share of links that it acts on. A link is one direction of one connection, and the
    /// draw is made when the toxic starts there: not once per request.
    #[serde(default = "all_links")]
    pub toxicity: Share,
    /// What it does.
    #[serde(flatten, deserialize_with = "possible")]
    #[schemars(with = "ToxicKind")]
    pub kind: ToxicKind,
}

/// Reads a kind, and refuses what no toxic can do.
fn possible<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToxicKind, D::Error> {
    let kind = ToxicKind::deserialize(deserializer)?;
    kind.check().map_err(de::Error::custom)?;
    Ok(kind)
}

const fn all_links() -> Share {
    Share::ALL
}

impl Toxic {
    /// A toxic without a name of its own, on every link, downstream.
    pub const fn new(kind: ToxicKind) -> Self {
        Self { name: None, stream: Stream::Downstream, toxicity: Share::ALL, kind }
    }

    /// The name given, or else `<kind>_<stream>`.
    pub fn name(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => name.into(),
            None => format!("{}_{}", self.kind.name(), self.stream.name()).into(),
        }
    }
}

/// What a kind of toxic does; implemented by its attributes.
pub(crate) trait Behaviour: Clone + Debug + Default {
    /// What it remembers of one link. It outlives a change of the attributes.
    type Memory: Debug + Default;

    /// One line for people who choose a toxic.
    const ABOUT: &'static str;

    /// Whether the links that it acts on end when it is taken away.
    const REMOVAL_CLOSES: bool = false;

    /// Its attributes by name, as Toxiproxy's HTTP API has them.
    fn attributes(&mut self) -> Attributes<'_>;

    /// Refuses attributes that mean nothing it could do.
    fn check(&self) -> Result<(), AttributeError> {
        Ok(())
    }

    /// How many items it holds back at most before it lets no more in, 1 or more.
    fn capacity(&self) -> usize {
        1
    }

    /// It begins to act on a link at `now`, or goes on with new attributes. It was added to the
    /// proxy at `added`, which is the same for all links.
    fn start(&self, _memory: &mut Self::Memory, _added: Time, _now: Time) {}

    /// When it ends the link if nothing enters before.
    fn closes_at(&self, _memory: &Self::Memory) -> Option<Time> {
        None
    }

    /// An item enters at `now`. It goes on once it is given to `out` with the earliest time at
    /// which it may leave. Not giving it on drops it; giving on several pieces splits it; giving
    /// on [`Item::Eof`] or [`Item::Reset`] ends the link. What is given on for [`Time::NEVER`]
    /// enters anew when the attributes change, and goes on when the toxic is removed.
    fn enter<P: Payload>(
        &self,
        memory: &mut Self::Memory,
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    );
}

/// Makes the modules, the enum that files hold, the running stages, and the list that the command
/// line and the conformance suite walk over.
macro_rules! toxics {
    ($($Kind:ident => $module:ident,)+) => {
        $(mod $module; pub use $module::$Kind;)+

        /// A kind of toxic and its attributes: `latency: { latency: 40ms, jitter: 10ms }`.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ToxicKind {
            $(#[doc = concat!("The toxic `", stringify!($module), "`.")] $Kind($Kind),)+
        }

        impl ToxicKind {
            /// Every registered kind with attributes that are possible, in the order of the registry.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$Kind($Kind::default())),+]
            }

            /// The kind's name, as files write it.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Kind(_) => stringify!($module),)+ }
            }

            /// One line on what the kind does.
            pub const fn about(&self) -> &'static str {
                match self { $(Self::$Kind(_) => <$Kind as Behaviour>::ABOUT,)+ }
            }

            /// The kind of that name with its default attributes.
            fn named(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($module) => Some(Self::$Kind($Kind::default())),)+
                    _ => None,
                }
            }

            fn attributes(&mut self) -> Attributes<'_> {
                match self { $(Self::$Kind(kind) => kind.attributes(),)+ }
            }

            /// See [`Behaviour::check`].
            fn check_own(&self) -> Result<(), AttributeError> {
                match self { $(Self::$Kind(kind) => kind.check(),)+ }
            }

            /// The toxic at the start of its work on one link.
            pub(crate) fn stage(&self) -> Stage {
                match self { $(Self::$Kind(kind) => Stage::$Kind(kind.clone(), Default::default()),)+ }
            }
        }

        /// A toxic at work on one link: its attributes and what it remembers.
        #[derive(Debug)]
        pub(crate) enum Stage {
            $($Kind($Kind, <$Kind as Behaviour>::Memory),)+
        }

        impl Stage {
            /// Whether it is of that kind.
            pub(crate) fn is(&self, kind: &ToxicKind) -> bool {
                match (self, kind) {
                    $((Self::$Kind(..), ToxicKind::$Kind(_)) => true,)+
                    _ => false,
                }
            }

            /// Takes new attributes on; starts afresh only if the kind is another.
            pub(crate) fn update(&mut self, new: &ToxicKind) {
                match (self, new) {
                    $((Self::$Kind(kind, _), ToxicKind::$Kind(new)) => kind.clone_from(new),)+
                    (stage, new) => *stage = new.stage(),
                }
            }

            /// See [`Behaviour::capacity`].
            pub(crate) fn capacity(&self) -> usize {
                match self { $(Self::$Kind(kind, _) => kind.capacity(),)+ }
            }

            /// See [`Behaviour::REMOVAL_CLOSES`].
            pub(crate) const fn removal_closes(&self) -> bool {
                match self { $(Self::$Kind(..) => <$Kind as Behaviour>::REMOVAL_CLOSES,)+ }
            }

            /// See [`Behaviour::start`].
            pub(crate) fn start(&mut self, added: Time, now: Time) {
                match self { $(Self::$Kind(kind, memory) => kind.start(memory, added, now),)+ }
            }

            /// See [`Behaviour::closes_at`].
            pub(crate) fn closes_at(&self) -> Option<Time> {
                match self { $(Self::$Kind(kind, memory) => kind.closes_at(memory),)+ }
            }

            /// See [`Behaviour::enter`].
            pub(crate) fn enter<P: Payload>(
                &mut self,
                now: Time,
                item: Item<P>,
                out: &mut Output<'_, P>,
            ) {
                match self { $(Self::$Kind(kind, memory) => kind.enter(memory, now, item, out),)+ }
            }
        }
    };
}

toxics! {
    Latency => latency,
    Bandwidth => bandwidth,
    SlowClose => slow_close,
    Timeout => timeout,
    ResetPeer => reset_peer,
    Slicer => slicer,
    LimitData => limit_data,
    Noop => noop,
    Wave => wave,
}

impl ToxicKind {
    /// The kind of that name, with attributes as Toxiproxy's HTTP API writes them: whole numbers of
    /// milliseconds, units of 1000 bytes a second, or bytes; the slicer's `delay` in microseconds.
    /// What is missing or null is 0, or the first choice; what is unknown is ignored.
    ///
    /// # Errors
    /// If there is no such kind, or it cannot do what the attributes ask for.
    pub fn from_api(name: &str, attributes: &Map<String, Value>) -> Result<Self, AttributeError> {
        let mut kind = Self::named(name).ok_or(AttributeError::UnknownKind)?;
        attribute::set_all(kind.attributes(), attributes)?;
        kind.check()?;
        Ok(kind)
    }

    /// The attributes as Toxiproxy's HTTP API writes them, to the nearest of its units.
    pub fn to_api(&self) -> Map<String, Value> {
        attribute::to_json(self.clone().attributes())
    }

    /// Changes the attributes that are there, as [`ToxicKind::from_api`] reads them, and no others.
    ///
    /// # Errors
    /// If the toxic cannot do what they ask for; nothing has changed then.
    pub fn merge_api(&mut self, attributes: &Map<String, Value>) -> Result<(), AttributeError> {
        let mut merged = self.clone();
        attribute::set_present(merged.attributes(), attributes)?;
        merged.check()?;
        *self = merged;
        Ok(())
    }

    /// Refuses what Toxiproxy's HTTP API has no number for: parts of a millisecond, say.
    ///
    /// # Errors
    /// The attribute, and what it has to be.
    pub fn check_api(&self) -> Result<(), AttributeError> {
        attribute::check_written(self.clone().attributes())
    }

    /// Refuses what no toxic can do: a time over [`LONGEST`], or what its kind has no meaning for.
    ///
    /// # Errors
    /// The attribute, and what it has to be.
    pub fn check(&self) -> Result<(), AttributeError> {
        attribute::check_times(self.clone().attributes())?;
        self.check_own()
    }
}

#[cfg(test)]
mod tests;
