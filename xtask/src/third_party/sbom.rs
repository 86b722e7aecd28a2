//! The software bill of materials, in CycloneDX 1.6.

use serde_json::{Value, json};

use super::crates::{Contents, Crate};

pub(super) fn document(name: &str, timestamp: &str, contents: &Contents) -> Value {
    let std = json!({
        "type": "library",
        "bom-ref": "rust-std",
        "name": "std",
        "description": "Rust standard library",
        "version": contents.rust,
        "purl": format!("pkg:generic/rust-std@{}", contents.rust),
        "licenses": [{ "expression": "MIT OR Apache-2.0" }],
    });
    let crates = contents.crates.iter().map(|(id, one)| component(id, one));
    let components: Vec<_> = crates.chain([std]).collect();
    let of_package = contents.roots.iter().map(String::as_str).chain(["rust-std"]);
    let of_package = json!({ "ref": name, "dependsOn": of_package.collect::<Vec<_>>() });
    let of_crates =
        contents.crates.iter().map(|(id, one)| json!({ "ref": id, "dependsOn": one.dependencies }));
    let dependencies: Vec<_> = [of_package].into_iter().chain(of_crates).collect();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": timestamp,
            "component": {
                "type": "application",
                "bom-ref": name,
                "name": name,
                "version": env!("CARGO_PKG_VERSION"),
                "licenses": [{ "expression": "Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

fn component(id: &str, one: &Crate) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": id,
        "name": one.name,
        "version": one.version,
        "licenses": [{ "expression": one.license }],
    });
    if let Some(checksum) = &one.checksum {
        // Only crates from crates.io have a package URL of this type.
        component["purl"] = format!("pkg:cargo/{}@{}", one.name, one.version).into();
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &one.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}
