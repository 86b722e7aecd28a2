//! Lists the driver API symbols that this library implements, one per line, for docs/coverage.md.

fn main() {
    for name in guest_libcuda::implemented() {
        println!("{name}");
    }
}
