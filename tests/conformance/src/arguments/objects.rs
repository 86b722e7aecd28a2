//! Creates the objects that calls get as arguments. An object is created in the primary context
//! when a parameter needs it.

use crate::cuda::{Cuda, Outcome, cu};
use cuda_api::sys::{CUcontext, CUevent, CUgreenCtx, CUstream, CUstreamCaptureMode as Mode};
use std::collections::BTreeMap;
use std::ptr::null_mut;

/// The objects that one call uses.
pub struct Objects<'a> {
    pub cuda: &'a Cuda,
    /// The name of the entry point that is called.
    pub function: &'static str,
    /// Objects that several arguments of the call refer to, by key.
    shared: BTreeMap<&'static str, u64>,
}

/// Returns the address of a value that is never freed. Space for outputs follows the value, in case
/// the call writes more.
pub fn keep<T: 'static>(value: T) -> u64 {
    #[repr(C)]
    struct Room<T>(T, [u64; 512]);
    std::ptr::from_mut(Box::leak(Box::new(Room(value, [0; 512])))) as u64
}

impl<'a> Objects<'a> {
    pub fn new(cuda: &'a Cuda, function: &'static str) -> Self {
        Self { cuda, function, shared: BTreeMap::new() }
    }

    /// Returns whether the entry point's name contains `part`.
    pub fn named(&self, part: &str) -> bool {
        self.function.contains(part)
    }

    /// Returns the shared object with this key. Calls `create` if the object doesn't exist yet.
    pub fn shared(
        &mut self,
        key: &'static str,
        create: impl FnOnce(&mut Self) -> Outcome<u64>,
    ) -> Outcome<u64> {
        if let Some(object) = self.shared.get(key) {
            return Ok(*object);
        }
        let object = create(self)?;
        self.shared.insert(key, object);
        Ok(object)
    }

    /// Returns an object of the type that a parameter has.
    pub fn object(&mut self, name: &str, type_: &str) -> Outcome<u64> {
        match type_ {
            "CUcontext" => self.context(),
            "CUstream" => self.stream(),
            "CUevent" => self.event(),
            "CUgreenCtx" => self.green(),
            "CUdevResourceDesc" => self.resource(),
            "CUgraph" | "CUgraphNode" | "CUgraphExec" | "CUuserObject" => self.graphs(name, type_),
            "CUarray" | "CUmipmappedArray" | "CUtexref" | "CUsurfref" | "CUtexObject"
            | "CUsurfObject" => self.image(type_),
            "CUmodule" | "CUfunction" | "CUlibrary" | "CUkernel" | "CUlinkState" => {
                self.code(type_)
            }
            "CUmemoryPool" if self.named("ImportPointer") => self.imported_pool(),
            "CUmemoryPool" => self.pool(),
            // Other types belong to systems such as EGL, for which no objects can be created, so
            // use null.
            _ => Ok(0),
        }
    }

    fn context(&mut self) -> Outcome<u64> {
        let (cuda, mut context): (_, CUcontext) = (self.cuda, null_mut());
        if self.named("Destroy") || self.named("Detach") {
            cu!(cuda, cuCtxCreate_v2(&mut context, 0, 0))?;
            self.shared.insert("own context", context as u64);
        } else {
            context = cuda.primary()?.1;
        }
        Ok(context as u64)
    }

    pub fn stream(&mut self) -> Outcome<u64> {
        self.shared("stream", |objects| {
            let (cuda, mut stream): (_, CUstream) = (objects.cuda, null_mut());
            cu!(cuda, cuStreamCreate(&mut stream, 1))?;
            if objects.named("EndCapture") || objects.named("UpdateCapture") {
                let mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
                cu!(cuda, cuStreamBeginCapture_v2(stream, mode))?;
            }
            Ok(stream as u64)
        })
    }

    /// Ends the capture of the stream, if the entry point is one that can begin captures or leave
    /// one active.
    pub fn end_captures(&self) {
        if self.named("Capture")
            && let Some(stream) = self.shared.get("stream")
        {
            let _ = cu!(self.cuda, cuStreamEndCapture(*stream as CUstream, &mut null_mut()));
        }
    }

    /// Returns an event that was recorded and has completed.
    pub fn event(&mut self) -> Outcome<u64> {
        let (cuda, mut event): (_, CUevent) = (self.cuda, null_mut());
        // Events that other processes can open require both flags, INTERPROCESS and DISABLE_TIMING
        // (6).
        let flags = if self.named("Ipc") { 6 } else { 0 };
        cu!(cuda, cuEventCreate(&mut event, flags))?;
        cu!(cuda, cuEventRecord(event, null_mut()))?;
        cu!(cuda, cuEventSynchronize(event))?;
        Ok(event as u64)
    }

    fn resource(&mut self) -> Outcome<u64> {
        let (cuda, mut described) = (self.cuda, null_mut());
        let resources = self.pointer("resources", "*mut CUdevResource")? as *mut _;
        cu!(cuda, cuDevResourceGenerateDesc(&mut described, resources, 1))?;
        Ok(described as u64)
    }

    fn green(&mut self) -> Outcome<u64> {
        let (cuda, mut green): (_, CUgreenCtx) = (self.cuda, null_mut());
        let described = self.resource()? as *mut _;
        cu!(cuda, cuGreenCtxCreate(&mut green, described, 0, 1))?;
        Ok(green as u64)
    }
}
