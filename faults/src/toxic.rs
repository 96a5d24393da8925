//! Toxics: the kinds of fault that a link can have, with Toxiproxy's names and attributes.
//!
//! To add a kind: copy `toxic/noop.rs` to `toxic/<name>.rs`, and add one line to the registry
//! below. It then appears in files, schema, lists and the conformance suite.

use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    #[serde(flatten)]
    pub kind: ToxicKind,
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

    /// How many items it holds back at most before it lets no more in, 1 or more.
    fn capacity(&self) -> usize {
        1
    }

    /// An item enters at `now`. It goes on once it is given to `out` with the earliest time at
    /// which it may leave. Not giving it on drops it; giving on several pieces splits it; giving
    /// on [`Item::Eof`] ends the link.
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
            /// Every registered kind with its default attributes, in the order of the registry.
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
    Noop => noop,
}

#[cfg(test)]
mod tests;
