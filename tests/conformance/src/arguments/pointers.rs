//! Argument values that are pointers: to memory for outputs, to arrays, and to strings.

use super::code::PTX;
use super::memory::PAGE;
use super::objects::{Objects, keep};
use crate::cuda::{Failure, Outcome, cu};
use std::ffi::CString;

impl Objects<'_> {
    /// Returns the argument value for a parameter that is a pointer.
    pub fn pointer(&mut self, name: &str, type_: &str) -> Outcome<u64> {
        let Some((mutability, pointee)) = type_.split_once(' ') else {
            return Err(Failure::new(format!("{type_} is no pointer")));
        };
        match pointee {
            "c_char" if mutability == "*const" => self.text(name),
            "c_void" => self.bytes(name),
            // An array of pointers: kernel parameters or option values.
            "*mut c_void" => match name {
                "kernelParams" => Ok(keep([keep(0u64); 4])),
                // A launch accepts either `kernelParams` or `extra`, so leave this one null.
                "extra" => Ok(0),
                "data" => Ok(keep([keep(0u64)])),
                "optionValues" | "jitOptionsValues" => Ok(keep([4u64])),
                _ => Ok(keep([0u64; 2])),
            },
            "CUdeviceptr" if name.ends_with('s') => Ok(keep([self.address()?])),
            "CUgraphNode" if name == "to" => Ok(keep([self.node()?])),
            "CUgraphNode" if name == "from" || name == "dependencies" => Ok(keep([self.root()?])),
            "usize" => Ok(keep([match name {
                "sizes" => PAGE as u64,
                "dataSizes" => 4,
                "attrIdxs" | "prefetchLocIdxs" => 0,
                "size" if self.named("Coredump") => 1,
                "size" => 1024,
                _ => 8,
            }])),
            "u32" | "i32" | "u64" => Ok(self.numbers(name, pointee)),
            _ => self.structure(pointee),
        }
    }

    fn numbers(&mut self, name: &str, pointee: &str) -> u64 {
        match (name, pointee) {
            ("globalDim", _) => keep([64u64; 5]),
            ("globalStrides", _) => keep([256u64, 16384, 1 << 20, 1 << 26]),
            ("boxDim", _) => keep([16u32; 5]),
            ("elementStrides", _) => keep([1u32; 5]),
            ("nbGroups", _) => keep(1u32),
            (_, "u64") => keep(0u64),
            _ => keep([0u32; 8]),
        }
    }

    /// Returns the address of a string for a parameter with this name.
    fn text(&mut self, name: &str) -> Outcome<u64> {
        let path = || {
            let path = std::env::temp_dir().join("cuda-conformance-arguments.ptx");
            std::fs::write(&path, PTX.to_bytes()).map_err(Failure::new)?;
            CString::new(path.into_os_string().into_encoded_bytes()).map_err(Failure::new)
        };
        let text = match name {
            "pciBusId" => {
                let (cuda, to) = (self.cuda, keep([0u8; 64]));
                cu!(cuda, cuDeviceGetPCIBusId(to as *mut _, 64, 0))?;
                return Ok(to);
            }
            "path" if self.named("DebugDot") => CString::from(c"/dev/null"),
            "pathToFile" | "outputFile" => CString::from(c"/dev/null"),
            "fname" | "fileName" | "path" | "configFile" => path()?,
            "symbol" if self.named("GetProcAddress") => CString::from(c"cuMemAlloc"),
            _ if self.named("Global") => CString::from(c"step"),
            _ if self.named("Managed") => CString::from(c"counter"),
            _ if self.named("TexRef") => CString::from(c"image"),
            _ if self.named("SurfRef") => CString::from(c"plane"),
            _ => CString::from(c"fill"),
        };
        Ok(text.into_raw() as u64)
    }

    /// Returns the address that a `void *` parameter with this name requires.
    fn bytes(&mut self, name: &str) -> Outcome<u64> {
        match name {
            "image" | "code" | "fatCubin" => Ok(PTX.as_ptr() as u64),
            "data" if self.named("LinkAdd") => Ok(PTX.as_ptr() as u64),
            "p" => self.host(),
            "addr" => self.mapped(),
            "globalAddress" => Ok(self.cuda.alloc(1 << 20)?),
            "osHandle" => self.exported_memory(),
            "handle" if self.named("PoolImport") => self.exported_pool(),
            _ => Ok(keep([0u8; 1024])),
        }
    }
}
