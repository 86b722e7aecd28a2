//! Describes why a VM waits for a GPU.

use control_api::{ComputeSpec, Wait, WaitReason};

/// Returns the reason as text, such as "turn of web".
pub(crate) fn reason(wait: &Wait, compute: &ComputeSpec) -> String {
    let of = |text: &str, word: &str| match &wait.vm {
        Some(vm) => format!("{text} {word} {vm}"),
        None => text.to_owned(),
    };
    match wait.reason {
        WaitReason::Paused => "paused".into(),
        WaitReason::SwappedOut => "swapped out".into(),
        WaitReason::HostFunctions => "host functions".into(),
        WaitReason::ComputeMax => format!("compute.max {}", compute.max),
        WaitReason::Contexts => of("context", "of"),
        WaitReason::TurnEnds => "end of its turn".into(),
        WaitReason::Reserved => of("reserved", "for"),
        WaitReason::Turn => of("turn", "of"),
    }
}

/// Returns the reason for a wait in at most eight characters.
pub(crate) fn short_reason(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::Paused => "paused",
        WaitReason::SwappedOut => "swapped",
        WaitReason::HostFunctions => "host",
        WaitReason::ComputeMax => "max",
        WaitReason::Contexts => "context",
        WaitReason::TurnEnds => "ending",
        WaitReason::Reserved => "reserved",
        WaitReason::Turn => "turn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_name_the_limit_or_the_other_vm() {
        let compute = ComputeSpec { max: "10%".parse().unwrap(), ..ComputeSpec::default() };
        let text = |reason_, vm: Option<&str>| {
            reason(&Wait { reason: reason_, vm: vm.map(str::to_owned) }, &compute)
        };
        assert_eq!(text(WaitReason::ComputeMax, None), "compute.max 10%");
        assert_eq!(text(WaitReason::Turn, Some("web")), "turn of web");
        assert_eq!(text(WaitReason::Reserved, Some("web")), "reserved for web");
        assert_eq!(text(WaitReason::Reserved, None), "reserved");
        assert!(WaitReason::ALL.iter().all(|one| short_reason(*one).len() <= 8));
    }
}
