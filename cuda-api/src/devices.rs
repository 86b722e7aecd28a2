//! The text form of UUIDs, and the selection of devices with CUDA_VISIBLE_DEVICES.

/// Formats a UUID as NVIDIA's tools do.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::from("GPU-");
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Returns the indices of the devices that CUDA_VISIBLE_DEVICES (`wanted`) selects, in the order of
/// its entries. The first entry that doesn't match a device ends the list. If two entries select
/// the same device, no device is visible, as with NVIDIA's driver. If the variable isn't set, all
/// devices are visible. (CUDA C++ Programming Guide, "CUDA Environment Variables".)
pub fn visible(wanted: Option<&str>, uuids: &[[u8; 16]]) -> Vec<usize> {
    let Some(wanted) = wanted else { return (0..uuids.len()).collect() };
    let mut places = Vec::new();
    for entry in wanted.split(',').map(str::trim) {
        let place = match entry.strip_prefix("GPU-") {
            Some(prefix) => of_uuid(&prefix.to_ascii_lowercase(), uuids),
            None => entry.parse().ok().filter(|&place| place < uuids.len()),
        };
        match place {
            Some(place) if places.contains(&place) => return Vec::new(),
            Some(place) => places.push(place),
            None => break,
        }
    }
    places
}

/// Returns the index of the device whose UUID begins with `prefix`, if there is exactly one.
fn of_uuid(prefix: &str, uuids: &[[u8; 16]]) -> Option<usize> {
    let named = |place: &usize| uuid_text(&uuids[*place])["GPU-".len()..].starts_with(prefix);
    let mut matching = (0..uuids.len()).filter(named);
    match (matching.next(), matching.next()) {
        (Some(place), None) if !prefix.is_empty() => Some(place),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (Some("1,1"), vec![]),
            (Some("GPU-bb,0"), vec![2, 0]),
            (Some("GPU-a"), vec![]),
            (Some("GPU-ABABABAB-abab-abab-abab-abababababab"), vec![1]),
            (Some("GPU-abababab-abab,GPU-aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"), vec![1, 0]),
            (Some("MIG-1"), vec![]),
        ] {
            assert_eq!(visible(wanted, &three), expected, "{wanted:?}");
        }
    }
}
