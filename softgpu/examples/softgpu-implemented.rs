//! Lists the driver API's symbols that this library implements, one per line, for docs/coverage.md.

fn main() {
    for name in softgpu::implemented() {
        println!("{name}");
    }
}
