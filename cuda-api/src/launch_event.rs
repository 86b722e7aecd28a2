//! Events that a launch records while its kernel runs, which are attributes of the launch.

use crate::error::{CuError, CuResult};
use crate::graph::edge::Edge;
use crate::sys::{CUevent_record_flags, CUlaunchAttribute, CUlaunchAttributeID as Id};

const EXTERNAL: i32 = CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL.0 as i32;

/// The point of a kernel that an event marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Each block has finished or has triggered programmatic launches, or has begun if
    /// `at_block_start` is set (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT).
    Programmatic { at_block_start: bool },
    /// All blocks have begun (CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT).
    Begun,
}

impl Point {
    /// Returns the edge to a node that waits for the event in a capture.
    pub fn edge(self) -> Edge {
        match self {
            Self::Programmatic { at_block_start: false } => Edge::Programmatic,
            Self::Programmatic { at_block_start: true } => Edge::ProgrammaticLaunchOrder,
            Self::Begun => Edge::LaunchOrder,
        }
    }

    /// Returns whether the event also counts blocks that have only begun as finished.
    pub fn at_block_start(self) -> bool {
        matches!(self, Self::Programmatic { at_block_start: true })
    }
}

/// An event, by the program's handle, and the point that it marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchEvent {
    pub handle: usize,
    pub point: Point,
}

impl LaunchEvent {
    /// Reads a launch attribute. Returns `None` if the attribute isn't an event.
    pub fn read(attribute: &CUlaunchAttribute) -> CuResult<Option<Self>> {
        let (event, flags, point) = match attribute.id {
            Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                // SAFETY: the id says which member of the union is set. Every bit pattern is valid
                // for this member, because the handle in it isn't dereferenced.
                let value = unsafe { attribute.value.programmaticEvent };
                let at_block_start = value.triggerAtBlockStart != 0;
                (value.event, value.flags, Point::Programmatic { at_block_start })
            }
            Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                // SAFETY: the id says which member of the union is set. Every bit pattern is valid
                // for this member, because the handle in it isn't dereferenced.
                let value = unsafe { attribute.value.launchCompletionEvent };
                (value.event, value.flags, Point::Begun)
            }
            _ => return Ok(None),
        };
        // The only flag of event records (EXTERNAL) isn't allowed in launches. The errors are those
        // of driver 580.
        match flags {
            0 => Ok(Some(Self { handle: event as usize, point })),
            EXTERNAL => Err(CuError::ILLEGAL_STATE),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Fails if a launch can't record an event with these properties.
    pub fn check(timing: bool, interprocess: bool) -> CuResult {
        if timing || interprocess { Err(CuError::NOT_SUPPORTED) } else { Ok(()) }
    }
}

/// The events that a launch records: at most one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchEvents<T = LaunchEvent> {
    /// The event with [`Point::Programmatic`].
    pub programmatic: Option<T>,
    /// The event with [`Point::Begun`].
    pub begun: Option<T>,
}

impl LaunchEvents {
    /// Reads a launch attribute. Returns false if the attribute isn't an event. As with NVIDIA's
    /// driver, the last attribute of each kind counts.
    pub fn read(&mut self, attribute: &CUlaunchAttribute) -> CuResult<bool> {
        let Some(event) = LaunchEvent::read(attribute)? else { return Ok(false) };
        let place = match event.point {
            Point::Programmatic { .. } => &mut self.programmatic,
            Point::Begun => &mut self.begun,
        };
        *place = Some(event);
        Ok(true)
    }

    /// Looks up the events. Returns the first error.
    pub fn try_map<T>(
        self,
        mut find: impl FnMut(LaunchEvent) -> CuResult<T>,
    ) -> CuResult<LaunchEvents<T>> {
        Ok(LaunchEvents {
            programmatic: self.programmatic.map(&mut find).transpose()?,
            begun: self.begun.map(&mut find).transpose()?,
        })
    }
}

impl<T> Default for LaunchEvents<T> {
    fn default() -> Self {
        Self { programmatic: None, begun: None }
    }
}

impl<T> LaunchEvents<T> {
    /// Returns the events. If both are the same event, the record that completes later is last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.begun.iter().chain(&self.programmatic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::CUstreamAttrValue;

    fn attribute(id: Id, flags: i32, at_block_start: i32) -> CUlaunchAttribute {
        let mut value = CUstreamAttrValue { pad: [0; 64] };
        value.programmaticEvent.event = std::ptr::without_provenance_mut(7);
        value.programmaticEvent.flags = flags;
        value.programmaticEvent.triggerAtBlockStart = at_block_start;
        CUlaunchAttribute { id, pad: [0; 4], value }
    }

    #[test]
    fn events_are_read_from_attributes() {
        let programmatic = Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
        let completion = Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
        let edge = |id, at_block_start| {
            let event = LaunchEvent::read(&attribute(id, 0, at_block_start)).unwrap().unwrap();
            assert_eq!(event.handle, 7);
            event.point.edge()
        };
        assert_eq!(edge(programmatic, 0), Edge::Programmatic);
        assert_eq!(edge(programmatic, 1), Edge::ProgrammaticLaunchOrder);
        assert_eq!(edge(completion, 1), Edge::LaunchOrder);
        for id in [programmatic, completion] {
            let external = LaunchEvent::read(&attribute(id, 1, 0));
            assert_eq!(external, Err(CuError::ILLEGAL_STATE));
            let unknown = LaunchEvent::read(&attribute(id, 2, 0));
            assert_eq!(unknown, Err(CuError::INVALID_VALUE));
        }
        let other = attribute(Id::CU_LAUNCH_ATTRIBUTE_PRIORITY, 1, 1);
        assert_eq!(LaunchEvent::read(&other), Ok(None));
    }

    #[test]
    fn a_launch_records_the_last_event_of_each_kind() {
        let named = |id, handle| {
            let mut named = attribute(id, 0, 1);
            named.value.programmaticEvent.event = std::ptr::without_provenance_mut(handle);
            named
        };
        let mut events = LaunchEvents::default();
        for (id, handle, is_event) in [
            (Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 1, true),
            (Id::CU_LAUNCH_ATTRIBUTE_PRIORITY, 2, false),
            (Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 3, true),
            (Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 4, true),
        ] {
            assert_eq!(events.read(&named(id, handle)), Ok(is_event));
        }
        let handles: Vec<usize> = events.iter().map(|event| event.handle).collect();
        assert_eq!(handles, [3, 4]);
        let fail = |event: LaunchEvent| match event.handle {
            3 => Err(CuError::INVALID_HANDLE),
            handle => Ok(handle),
        };
        assert_eq!(events.try_map(fail), Err(CuError::INVALID_HANDLE));
    }
}
