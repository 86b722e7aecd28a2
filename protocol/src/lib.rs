//! The boundary between guest and host: uAPI, ring, API table, codecs.
