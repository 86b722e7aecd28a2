//! Lists the driver API's symbols that this library implements, a line each, for docs/coverage.md.

fn main() {
    for name in guest_libcuda::implemented() {
        println!("{name}");
    }
}
