//! Network faults as a pure chain of toxics, and an embedded TCP proxy that drives it.
