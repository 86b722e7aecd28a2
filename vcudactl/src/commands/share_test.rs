//! The `test` command.

use control_api::VmInfo;
use serde_json::json;

use super::output::Output;
use super::path::vm_path;
use super::vm::pausers;
use crate::cli::TestArgs;
use crate::client::Client;
use crate::cuda;
use crate::error::CtlError;
use crate::share_test::{self, Failure, Step};
use crate::table::{Side, Table, time};

pub(super) async fn run(client: &Client, output: &Output, args: &TestArgs) -> Result<(), CtlError> {
    let path = vm_path(&args.name)?;
    let before: VmInfo = client.get(&path).await?;
    if let Some(reason) = share_test::cannot_run(&before, &pausers(&before)) {
        return Err(CtlError::Untested(reason));
    }
    let library = cuda::find(args.libcuda.as_deref())?;
    let (steps, failed) = share_test::run(&library, &before.socket, args.timeout)?;
    let value = json!({"vm": args.name, "steps": &steps, "failed": &failed});
    output.answer(&value, |mut out| {
        let mut table =
            Table::new(&[("STEP", Side::Left), ("GPU", Side::Right), ("TIME", Side::Right)]);
        let gpu = |number: Option<u32>| {
            // `number` is the GPU's index in the VM, which is its position in this list.
            let index = number.and_then(|number| usize::try_from(number).ok());
            let gpu = index.and_then(|index| before.stats.gpus.get(index));
            gpu.map_or("-".into(), |gpu| gpu.gpu.to_string())
        };
        for Step { step, gpu: number, ns } in &steps {
            table.row([step.clone(), gpu(*number), time(*ns)]);
        }
        if let Some(Failure { step, gpu: number, .. }) = &failed {
            table.row([step.clone(), gpu(*number), "failed".into()]);
        }
        table.print(&mut out)
    })?;
    let Some(failure) = failed else { return Ok(()) };
    // If the test failed because vcudad is stopped, this request fails with an error that says so.
    let after: VmInfo = client.get(&path).await?;
    let advice = match share_test::cannot_run(&after, &pausers(&after)) {
        Some(reason) => reason,
        None => share_test::explain(&failure, &before, &after),
    };
    let Failure { step, text, .. } = failure;
    Err(CtlError::TestFailed { vm: args.name.clone(), step, text, advice })
}
