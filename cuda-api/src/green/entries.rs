//! The macro that exports the entry points that describe green contexts and create them.

/// Exports the entry points of green contexts for a [`Library`](crate::green::Library). The second
/// argument is the library's [`EntryPoint`](crate::entries::EntryPoint).
#[macro_export]
macro_rules! green_entries {
    ($library:ty, $entry_point:ty) => {
        use $crate::args::{In as GreenIn, Out as GreenOut};
        use $crate::green::provision as greens;
        use $crate::sys as green_sys;

        $crate::entries! { $entry_point;
            fn cuDeviceGetDevResource(
                device: i32, to: GreenOut<green_sys::CUdevResource>, kind: u32,
            ) {
                greens::of_device::<$library>(device, to, kind)
            }
            fn cuCtxGetDevResource(
                context: green_sys::CUcontext, to: GreenOut<green_sys::CUdevResource>, kind: u32,
            ) {
                greens::of_context::<$library>(context, to, kind)
            }
            fn cuGreenCtxGetDevResource(
                green: green_sys::CUgreenCtx, to: GreenOut<green_sys::CUdevResource>, kind: u32,
            ) {
                greens::of_green::<$library>(green, to, kind)
            }
            fn cuDevSmResourceSplitByCount(
                result: GreenOut<green_sys::CUdevResource>, count: GreenOut<u32>,
                input: GreenIn<green_sys::CUdevResource>,
                remaining: GreenOut<green_sys::CUdevResource>, flags: u32, min_count: u32,
            ) {
                // SAFETY: the program passes an array with as many elements as `count` says.
                unsafe {
                    greens::split::<$library>(result, count, input, remaining, (flags, min_count))
                }
            }
            fn cuDevResourceGenerateDesc(
                to: GreenOut<green_sys::CUdevResourceDesc>, resources: *mut green_sys::CUdevResource,
                count: u32,
            ) {
                // SAFETY: the program passes an array of `count` elements.
                unsafe {
                    let resources = GreenIn::from_address(resources as usize);
                    greens::describe::<$library>(to, resources, count)
                }
            }
            fn cuGreenCtxCreate(
                to: GreenOut<green_sys::CUgreenCtx>, descriptor: green_sys::CUdevResourceDesc,
                device: i32, flags: u32,
            ) {
                greens::create::<$library>(to, descriptor, device, flags)
            }
        }
    };
}
