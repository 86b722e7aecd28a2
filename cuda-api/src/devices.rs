//! The text form of UUIDs and PCI addresses, the properties that `cuDeviceGetProperties` returns,
//! and the selection of devices with CUDA_VISIBLE_DEVICES.

use crate::error::{CuError, CuResult};
use crate::sys::{CUdevice_attribute as A, CUdevprop};

/// The beginning of a UUID as text.
const UUID_PREFIX: &str = "GPU-";

/// Returns the answer of `cuDeviceGetProperties` for a device with these attributes.
pub fn properties(get: impl Fn(A) -> i32) -> CUdevprop {
    CUdevprop {
        maxThreadsPerBlock: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        maxThreadsDim: [
            get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
            get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
            get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
        ],
        maxGridSize: [
            get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
            get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
            get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
        ],
        sharedMemPerBlock: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        totalConstantMemory: get(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        SIMDWidth: get(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        memPitch: get(A::CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        regsPerBlock: get(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        clockRate: get(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        textureAlign: get(A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    }
}

/// Formats a UUID as NVIDIA's tools do.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::from(UUID_PREFIX);
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// A PCI address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciAddress {
    pub domain: u32,
    pub bus: u8,
    pub device: u8,
    pub function: u8,
}

impl std::fmt::Display for PciAddress {
    /// Formats the address as NVML does.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:08X}:{bus:02X}:{device:02X}.{function:X}")
    }
}

impl PciAddress {
    /// Parses an address in one of the forms that `cuDeviceGetByPCIBusId` accepts:
    /// domain:bus:device.function, domain:bus:device, bus:device.function, and bus:device, with
    /// hexadecimal numbers. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, function) = match text.trim().rsplit_once('.') {
            Some((address, function)) => (address, function),
            None => (text.trim(), "0"),
        };
        let fields: Vec<&str> = address.split(':').collect();
        let (domain, bus, device) = match fields[..] {
            [domain, bus, device] => (domain, bus, device),
            [bus, device] => ("0", bus, device),
            _ => return None,
        };
        Some(Self {
            domain: number(domain)?,
            bus: number(bus)?,
            device: number(device)?,
            function: number(function)?,
        })
    }

    /// Formats the address with four digits for the domain, as `cuDeviceGetPCIBusId` and older
    /// versions of NVML do.
    pub fn legacy(&self) -> String {
        let Self { domain, bus, device, function } = self;
        format!("{:04X}:{bus:02X}:{device:02X}.{function:X}", domain & 0xffff)
    }
}

/// Parses a hexadecimal number without a sign.
fn number<T: TryFrom<u32>>(digits: &str) -> Option<T> {
    let unsigned = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let value = unsigned.then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
    value.try_into().ok()
}

/// Returns the indices of the devices that CUDA_VISIBLE_DEVICES (`wanted`) selects, in the order of
/// its entries. The first entry decides whether the entries are UUIDs or indices. The first entry
/// that doesn't match a device ends the list. If two entries select the same device, `cuInit`
/// fails. If the variable isn't set, all devices are visible. (CUDA C++ Programming Guide, "CUDA
/// Environment Variables"; NVIDIA's driver decides where the guide doesn't.)
pub fn visible(wanted: Option<&str>, uuids: &[[u8; 16]]) -> CuResult<Vec<usize>> {
    let Some(wanted) = wanted else { return Ok((0..uuids.len()).collect()) };
    let are_uuids = wanted.starts_with(UUID_PREFIX);
    let mut places = Vec::new();
    for entry in wanted.split(',') {
        let place = match are_uuids {
            true => of_uuid(entry, uuids),
            false => usize::try_from(leading_number(entry)).ok(),
        };
        match place.filter(|&place| place < uuids.len()) {
            Some(place) if places.contains(&place) => return Err(CuError::INVALID_DEVICE),
            Some(place) => places.push(place),
            None => break,
        }
    }
    Ok(places)
}

/// Returns the decimal number at the beginning of an entry, converted to `int` as C's `strtol`
/// would: skips spaces, accepts a sign, ignores text after the digits, and wraps modulo 2^32 unless
/// the number exceeds 64 bits. For example, `0x1` and `0;1` are 0. Returns -1 if there is no
/// number.
fn leading_number(entry: &str) -> i32 {
    let entry = entry.trim_ascii_start();
    let digits = entry.strip_prefix(['+', '-']).unwrap_or(entry);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return -1;
    }
    let number: i64 = digits[..end].parse().unwrap_or(i64::MAX);
    if entry.starts_with('-') { number.wrapping_neg() as i32 } else { number as i32 }
}

/// Returns the index of the device whose UUID begins with an entry, if there is exactly one. Text
/// after a complete UUID is ignored.
fn of_uuid(entry: &str, uuids: &[[u8; 16]]) -> Option<usize> {
    let wanted = entry.strip_prefix(UUID_PREFIX)?.to_ascii_lowercase();
    let named = |place: &usize| {
        let text = uuid_text(&uuids[*place]);
        let digits = &text[UUID_PREFIX.len()..];
        digits.starts_with(&wanted) || wanted.starts_with(digits)
    };
    let mut matching = (0..uuids.len()).filter(named);
    match (matching.next(), matching.next()) {
        (Some(place), None) if !wanted.is_empty() => Some(place),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_have_four_forms() {
        let address =
            |domain, bus, device, function| Some(PciAddress { domain, bus, device, function });
        assert_eq!(PciAddress::parse("0000:3B:00.0"), address(0, 0x3b, 0, 0));
        assert_eq!(PciAddress::parse("1a:3b:1f.1"), address(0x1a, 0x3b, 0x1f, 1));
        assert_eq!(PciAddress::parse("3b:00.0"), address(0, 0x3b, 0, 0));
        assert_eq!(PciAddress::parse(" 3b:00 "), address(0, 0x3b, 0, 0));
        for invalid in ["", "3b", "3b:", ":::", "+3b:00", "3b:00.x", "1:2:3:4", "not an address"] {
            assert_eq!(PciAddress::parse(invalid), None, "{invalid}");
        }
        let address = PciAddress::parse("3b:00").unwrap();
        assert_eq!(
            (address.to_string().as_str(), address.legacy().as_str()),
            ("00000000:3B:00.0", "0000:3B:00.0")
        );
    }

    #[test]
    fn devices_are_chosen_and_ordered_by_index_and_uuid() {
        let three = [[0xaa; 16], [0xab; 16], [0xbb; 16]];
        for (wanted, expected) in [
            (None, vec![0, 1, 2]),
            (Some(""), vec![]),
            (Some("1"), vec![1]),
            (Some("2, 0"), vec![2, 0]),
            (Some("0,7,1"), vec![0]),
            (Some("-1"), vec![]),
            (Some("GPU-bb,0"), vec![2]),
            (Some("0,GPU-bb"), vec![0]),
            (Some(" GPU-bb"), vec![]),
            (Some("GPU-abababab-abab-abab-abab-abababababab;0"), vec![1]),
            (Some("GPU-a"), vec![]),
            (Some("GPU-ABABABAB-abab-abab-abab-abababababab"), vec![1]),
            (Some("GPU-abababab-abab,GPU-aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"), vec![1, 0]),
            (Some("MIG-1"), vec![]),
            (Some("0x1"), vec![0]),
            (Some("0;1"), vec![0]),
            (Some("1gpu2,2ampere"), vec![1, 2]),
            (Some("2, +1, -0"), vec![2, 1, 0]),
            (Some("1,-2,0"), vec![1]),
            (Some("- 1"), vec![]),
            (Some("+-1"), vec![]),
            (Some("99999999999999999999999"), vec![]),
            (Some("4294967297"), vec![1]),
            (Some("\t1 ,0"), vec![1, 0]),
            (Some("2147483648"), vec![]),
            (Some("2147483647"), vec![]),
        ] {
            assert_eq!(visible(wanted, &three), Ok(expected), "{wanted:?}");
        }
        for wanted in ["1,1", "0,2,0,99", "GPU-bb,GPU-bbbb", "0,4294967296"] {
            assert_eq!(visible(Some(wanted), &three), Err(CuError::INVALID_DEVICE), "{wanted}");
        }
    }
}
