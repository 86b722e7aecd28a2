//! Checks that the ledger accounts for all device memory.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::Client;

/// Bytes of device memory in use, by VM and GPU.
pub type Uses = BTreeMap<(String, u64), u64>;

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no number '{key}' in {value}"))
}

fn name(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A VM's account on one GPU, as the control API reports it.
pub struct Account {
    pub vm: String,
    pub gpu: u64,
    pub max: u64,
    pub used: u64,
}

/// Returns the accounts in a response to `/v1/stats`.
pub fn accounts(stats: &Value) -> Vec<Account> {
    let of = |vm: &Value| {
        let vm_name = name(vm, "name");
        list(&vm["gpus"])
            .map(|gpu| Account {
                vm: vm_name.clone(),
                gpu: number(gpu, "gpu"),
                max: number(gpu, "memory_max"),
                used: number(gpu, "memory_used"),
            })
            .collect::<Vec<_>>()
    };
    list(&stats["vms"]).flat_map(of).collect()
}

/// Checks that the figures in one response to `/v1/stats` are consistent with each other.
pub fn check_stats(stats: &Value) -> Result<(), String> {
    for vm in list(&stats["vms"]) {
        for gpu in list(&vm["gpus"]) {
            let kinds = gpu["memory_by_kind"].as_object();
            let sum: u64 = kinds.into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum();
            let used = number(gpu, "memory_used");
            if sum != used {
                let vm = &vm["name"];
                return Err(format!("VM {vm}: memory_used is {used}, but its kinds are {sum}"));
            }
        }
    }
    for gpu in list(&stats["gpus"]) {
        let index = number(gpu, "index");
        let vms = accounts(stats).into_iter().filter(|account| account.gpu == index);
        let sum: u64 = vms.map(|account| account.used).sum();
        let used = number(gpu, "memory_used");
        // A GPU's use can exceed the sum of its VMs, because workers of removed VMs may still be
        // exiting.
        if sum > used {
            return Err(format!("GPU {index}: memory_used is {used}, but its VMs' is {sum}"));
        }
    }
    Ok(())
}

/// Checks that the use of each VM is the sum of its sessions' uses, and that the use of each GPU is
/// the sum of its VMs' uses. Fails if the figures change between the two requests.
pub fn check_sums(client: &mut Client) -> Result<(), String> {
    let stats = client.get("/v1/stats")?;
    let sessions = client.get("/v1/sessions")?;
    let mut uses = Uses::new();
    for session in list(&sessions) {
        for memory in list(&session["memory"]) {
            let key = (name(session, "vm"), number(memory, "gpu"));
            *uses.entry(key).or_default() += number(memory, "bytes");
        }
    }
    for account in accounts(&stats) {
        let key = (account.vm.clone(), account.gpu);
        let sum = uses.get(&key).copied().unwrap_or(0);
        if sum != account.used {
            let (vm, gpu, used) = (account.vm, account.gpu, account.used);
            return Err(format!("VM {vm}, GPU {gpu}: memory_used is {used}, its sessions' {sum}"));
        }
    }
    for gpu in list(&stats["gpus"]) {
        let index = number(gpu, "index");
        let vms: Vec<_> = accounts(&stats).into_iter().filter(|vm| vm.gpu == index).collect();
        for (key, sum) in [
            ("memory_used", vms.iter().map(|vm| vm.used).sum::<u64>()),
            ("memory_promised", vms.iter().map(|vm| vm.max).sum()),
        ] {
            let said = number(gpu, key);
            if said != sum {
                return Err(format!("GPU {index}: {key} is {said}, its VMs' {sum}"));
            }
        }
    }
    Ok(())
}

/// Checks that there are no sessions, that all workers are warm ones, and that no memory is in use.
pub fn check_idle(client: &mut Client) -> Result<(), String> {
    let stats = client.get("/v1/stats")?;
    let workers = &stats["workers"];
    if number(workers, "assigned") + number(workers, "ending") > 0 {
        return Err(format!("workers are left: {workers}"));
    }
    if let Some(vm) = list(&stats["vms"]).find(|vm| number(vm, "sessions") > 0) {
        return Err(format!("VM {} has {} sessions", vm["name"], vm["sessions"]));
    }
    if let Some(account) = accounts(&stats).into_iter().find(|account| account.used > 0) {
        return Err(format!("VM {} has {} bytes in use", account.vm, account.used));
    }
    check_stats(&stats)?;
    check_sums(client)
}
