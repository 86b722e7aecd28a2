//! The driver objects of one process.

use std::collections::{BTreeMap, BTreeSet};

use host_ipc::messages::DriverObject;
use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE, is_channel};

/// Maximum number of objects per process. A context takes about 25.
pub const MAX_OBJECTS: usize = 4096;

/// The highest engine number of an engine that runs kernels (NV2080_ENGINE_TYPE_GR7, cl2080.h).
/// Copy engines and others have higher numbers.
const LAST_COMPUTE: u32 = 8;

/// A channel, through which a process submits work to a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// Handle of the client that the channel belongs to.
    pub client: u32,
    /// The channel's handle.
    pub handle: u32,
}

/// A process has more objects than [`MAX_OBJECTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_OBJECTS} driver objects")]
pub struct TooManyObjects;

/// The tree of a process's driver objects. A compromised process can report any object, so an
/// object's parent may be missing, or be the object's own descendant.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// All objects, by client and handle.
    objects: BTreeMap<(u32, u32), DriverObject>,
    /// Client, parent and handle of each object.
    children: BTreeSet<(u32, u32, u32)>,
}

impl Objects {
    /// Returns a tree without objects.
    pub const fn new() -> Self {
        Self { objects: BTreeMap::new(), children: BTreeSet::new() }
    }

    /// Adds an object. First frees an existing object with the same client and handle. On an error,
    /// the tree no longer matches the process.
    pub fn add(&mut self, object: DriverObject) -> Result<(), TooManyObjects> {
        let DriverObject { client, parent, handle, .. } = object;
        self.free(client, handle);
        if self.objects.len() >= MAX_OBJECTS {
            return Err(TooManyObjects);
        }
        self.objects.insert((client, handle), object);
        self.children.insert((client, parent, handle));
        Ok(())
    }

    /// Removes an object and all objects under it. A client is the root of its objects: its
    /// object's handle is the client's handle. Returns true if anything has been removed.
    pub fn free(&mut self, client: u32, handle: u32) -> bool {
        let before = self.objects.len();
        if handle == client {
            self.objects.retain(|(of, _), _| *of != client);
            self.children.retain(|(of, _, _)| *of != client);
        }
        let mut freed = vec![handle];
        while let Some(handle) = freed.pop() {
            let Some(object) = self.objects.remove(&(client, handle)) else { continue };
            self.children.remove(&(client, object.parent, handle));
            let under = (client, handle, 0)..=(client, handle, u32::MAX);
            freed.extend(self.children.range(under).map(|(_, _, child)| *child));
        }
        self.objects.len() < before
    }

    /// Returns the channels that run kernels on the GPU with this driver number.
    pub fn compute_channels(&self, gpu_number: u32) -> Vec<Channel> {
        let on_gpu = |object: &&DriverObject| {
            self.computes_on(object).is_some_and(|device| device.detail == gpu_number)
        };
        let channels = self.objects.values().filter(on_gpu);
        channels.map(|object| Channel { client: object.client, handle: object.handle }).collect()
    }

    /// Returns the driver's number of the GPU on which a channel group runs kernels. Returns `None`
    /// for other objects.
    pub fn gpu_of_compute_group(&self, client: u32, handle: u32) -> Option<u32> {
        let group = self.get(client, handle).filter(|object| is_compute_group(object))?;
        let device = self.get(client, group.parent).filter(|parent| parent.class == DEVICE)?;
        Some(device.detail)
    }

    /// Returns the objects that [`Self::compute_channels`] depends on: devices, channel groups for
    /// compute, and their channels.
    pub fn relevant(&self) -> Vec<DriverObject> {
        let is_relevant = |object: &&DriverObject| {
            object.class == DEVICE || is_compute_group(object) || self.computes_on(object).is_some()
        };
        self.objects.values().filter(is_relevant).copied().collect()
    }

    /// Returns the device object of the GPU on which a channel may run kernels. Returns `None` for
    /// other channels, such as those of copy engines, and for other objects.
    fn computes_on(&self, object: &DriverObject) -> Option<&DriverObject> {
        if !is_channel(object.class) {
            return None;
        }
        // The channel's parent is its channel group. A channel that was created without a group is
        // directly under its device.
        let parent = self.get(object.client, object.parent)?;
        let device = match parent.class {
            CHANNEL_GROUP if is_compute_group(parent) => self.get(parent.client, parent.parent)?,
            _ => parent,
        };
        (device.class == DEVICE).then_some(device)
    }

    fn get(&self, client: u32, handle: u32) -> Option<&DriverObject> {
        self.objects.get(&(client, handle))
    }
}

fn is_compute_group(object: &DriverObject) -> bool {
    object.class == CHANNEL_GROUP && object.detail <= LAST_COMPUTE
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: u32 = 0xc1d0_014b;
    const HOPPER_CHANNEL: u32 = 0xc86f;

    fn object(client: u32, parent: u32, handle: u32, class: u32, detail: u32) -> DriverObject {
        DriverObject { client, parent, handle, class, detail }
    }

    /// Returns the objects of two GPUs, each with a compute group (2 channels) and a copy group (1
    /// channel).
    fn two_gpus(client: u32) -> Objects {
        let mut objects = Objects::new();
        for gpu in [0, 1] {
            let device = 0x5c00_0000 + gpu * 0x100;
            for (handle, parent, class, detail) in [
                (device, client, DEVICE, gpu),
                (device + 1, device, CHANNEL_GROUP, 1),
                (device + 2, device + 1, HOPPER_CHANNEL, 0),
                (device + 3, device + 1, HOPPER_CHANNEL, 0),
                (device + 4, device, CHANNEL_GROUP, 11),
                (device + 5, device + 4, HOPPER_CHANNEL, 0),
            ] {
                objects.add(object(client, parent, handle, class, detail)).unwrap();
            }
        }
        objects
    }

    fn handles(objects: &Objects, gpu: u32) -> Vec<u32> {
        objects.compute_channels(gpu).iter().map(|channel| channel.handle).collect()
    }

    #[test]
    fn only_channels_for_compute_on_that_gpu_are_listed() {
        let objects = two_gpus(CLIENT);
        assert_eq!(handles(&objects, 0), [0x5c00_0002, 0x5c00_0003]);
        assert_eq!(handles(&objects, 1), [0x5c00_0102, 0x5c00_0103]);
        assert!(handles(&objects, 2).is_empty());
        assert!(objects.compute_channels(0).iter().all(|channel| channel.client == CLIENT));
    }

    #[test]
    fn the_relevant_objects_give_the_same_channels() {
        let objects = two_gpus(CLIENT);
        let mut fewer = Objects::new();
        for object in objects.relevant() {
            fewer.add(object).unwrap();
        }
        assert_eq!(fewer.relevant().len(), 8);
        for gpu in [0, 1] {
            assert_eq!(fewer.compute_channels(gpu), objects.compute_channels(gpu));
        }
    }

    #[test]
    fn channels_without_a_group_or_in_a_group_for_any_engine_that_computes_are_listed() {
        let mut objects = two_gpus(CLIENT);
        for (handle, parent, class, detail) in [
            (10, 0x5c00_0100, HOPPER_CHANNEL, 0),
            (11, 0x5c00_0100, CHANNEL_GROUP, 0),
            (12, 11, HOPPER_CHANNEL, 0),
            (13, 0x5c00_0100, CHANNEL_GROUP, 9),
            (14, 13, HOPPER_CHANNEL, 0),
        ] {
            objects.add(object(CLIENT, parent, handle, class, detail)).unwrap();
        }
        assert_eq!(handles(&objects, 1), [10, 12, 0x5c00_0102, 0x5c00_0103]);
    }

    #[test]
    fn freeing_an_object_frees_those_under_it() {
        let mut objects = two_gpus(CLIENT);
        objects.free(CLIENT, 0x5c00_0002);
        assert_eq!(handles(&objects, 0), [0x5c00_0003]);
        objects.free(CLIENT, 0x5c00_0001);
        assert!(handles(&objects, 0).is_empty());
        objects.free(CLIENT, 0x5c00_0100);
        assert_eq!(objects.objects.len(), 3);
        assert_eq!(objects.objects.len(), objects.children.len());
    }

    #[test]
    fn freeing_a_client_leaves_the_other_clients() {
        let mut objects = two_gpus(CLIENT);
        for object in two_gpus(CLIENT + 1).relevant() {
            objects.add(object).unwrap();
        }
        assert_eq!(objects.compute_channels(1).len(), 4);
        objects.free(CLIENT, CLIENT);
        let channels = objects.compute_channels(1);
        assert!(channels.len() == 2 && channels.iter().all(|one| one.client == CLIENT + 1));
        assert_eq!(objects.objects.len(), objects.children.len());
    }

    #[test]
    fn a_handle_that_is_used_again_replaces_the_object() {
        let mut objects = two_gpus(CLIENT);
        objects.add(object(CLIENT, CLIENT, 0x5c00_0001, DEVICE, 7)).unwrap();
        assert!(handles(&objects, 0).is_empty());
    }

    #[test]
    fn cycles_end() {
        let mut objects = Objects::new();
        for (parent, handle) in [(2, 1), (1, 2), (3, 3)] {
            objects.add(object(CLIENT, parent, handle, CHANNEL_GROUP, 1)).unwrap();
        }
        assert!(handles(&objects, 0).is_empty());
        objects.free(CLIENT, 1);
        objects.free(CLIENT, 3);
        assert!(objects.objects.is_empty() && objects.children.is_empty());
    }

    #[test]
    fn a_process_has_only_so_many_objects() {
        let mut objects = Objects::new();
        for handle in 0..MAX_OBJECTS as u32 {
            objects.add(object(CLIENT, CLIENT, handle, DEVICE, 0)).unwrap();
        }
        let more = object(CLIENT, CLIENT, u32::MAX, DEVICE, 0);
        assert_eq!(objects.add(more), Err(TooManyObjects));
        objects.free(CLIENT, 0);
        assert_eq!(objects.add(more), Ok(()));
    }
}
