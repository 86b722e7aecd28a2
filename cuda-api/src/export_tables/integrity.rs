//! Computes the response to cudart's integrity check (the table INTEGRITY_CHECK).
//!
//! cudart sends three checks when it starts, with versions that differ in their last digit. For the
//! digits 0 and 1 the answer is a constant. Otherwise it is an HMAC-MD2 over values that the driver
//! also reports elsewhere: its version, the process and thread, the addresses of its tables, and
//! every device's UUID and PCI address. cudart computes the same from the values that it sees, so
//! all of them must agree. For the same reason, the check can't be forwarded to another process.

use super::driver::DeviceIdentity;
use super::md2;
use core::ffi::c_void;

const KEY: [u8; 16] = 0x146ADDAE_53A9A752_AA084136_0BF55A9F_u128.to_be_bytes();

/// The inputs of the integrity check.
pub struct Question<'a> {
    pub driver_version: i32,
    pub cudart_version: u32,
    pub unix_seconds: u64,
    pub cudart_table: *const c_void,
    pub integrity_table: *const c_void,
    pub integrity_function: *const c_void,
    pub devices: &'a [DeviceIdentity],
}

/// Computes the response that cudart expects in the calling process and thread.
pub fn answer(question: &Question<'_>) -> [u64; 2] {
    match question.cudart_version % 10 {
        0 => [0x3341181C_03CB675C, 0x8ED383AA_1F4CD1E8],
        1 => [0x1841181C_03CB675C, 0x8ED383AA_1F4CD1E8],
        _ => {
            // SAFETY: pthread_self has no preconditions.
            let thread = unsafe { libc::pthread_self() };
            let mac = md2::hmac(&KEY, &message(question, std::process::id(), thread as u32));
            let half = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| mac[at + i]));
            [half(0), half(8)]
        }
    }
}

/// Returns the input of the HMAC: all values in native byte order, without padding.
fn message(question: &Question<'_>, process: u32, thread: u32) -> Vec<u8> {
    let mut message = Vec::with_capacity(48 + 28 * question.devices.len());
    message.extend(question.driver_version.to_ne_bytes());
    message.extend(question.cudart_version.to_ne_bytes());
    message.extend(process.to_ne_bytes());
    message.extend(thread.to_ne_bytes());
    for address in [question.cudart_table, question.integrity_table, question.integrity_function] {
        message.extend(address.addr().to_ne_bytes());
    }
    message.extend(question.unix_seconds.to_ne_bytes());
    for device in question.devices {
        message.extend(device.uuid);
        message.extend(device.pci_domain.to_ne_bytes());
        message.extend(device.pci_bus.to_ne_bytes());
        message.extend(device.pci_device.to_ne_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(cudart_version: u32) -> Question<'static> {
        Question {
            driver_version: 13000,
            cudart_version,
            unix_seconds: 1,
            cudart_table: core::ptr::without_provenance(0x1000),
            integrity_table: core::ptr::without_provenance(0x2000),
            integrity_function: core::ptr::without_provenance(0x3000),
            devices: &[DeviceIdentity { uuid: [7; 16], pci_domain: 0, pci_bus: 2, pci_device: 3 }],
        }
    }

    #[test]
    fn every_value_changes_the_answer() {
        let of = |question: &Question<'_>| message(question, 4, 5);
        let base = of(&question(13002));
        assert_eq!(base.len(), 48 + 28);
        assert_ne!(base, message(&question(13002), 5, 5));
        assert_ne!(base, message(&question(13002), 4, 6));
        assert_ne!(base, of(&Question { unix_seconds: 2, ..question(13002) }));
        assert_ne!(base, of(&Question { devices: &[], ..question(13002) }));
        assert_ne!(base, of(&Question { driver_version: 12090, ..question(13002) }));
        let null = core::ptr::null();
        assert_ne!(base, of(&Question { cudart_table: null, ..question(13002) }));
        assert_ne!(base, of(&Question { integrity_table: null, ..question(13002) }));
        assert_ne!(base, of(&Question { integrity_function: null, ..question(13002) }));
    }

    #[test]
    fn only_the_last_digits_0_and_1_have_constant_answers() {
        assert_eq!(answer(&question(12080)), answer(&question(13000)));
        assert_eq!(answer(&question(12081)), answer(&question(13001)));
        assert_ne!(answer(&question(13000)), answer(&question(13001)));
        assert_ne!(answer(&question(12082)), answer(&question(13002)));
    }
}
