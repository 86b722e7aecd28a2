//! Converts directions to positions on the faces of a cubemap.

/// Converts a vector to the coordinate system of a face, whose axes point right, down, and out of
/// the cube. The vector is a direction or a difference between two directions.
fn on_face(face: u32, [x, y, z]: [f32; 3]) -> [f32; 3] {
    match face {
        0 => [-z, -y, x],
        1 => [z, -y, -x],
        2 => [x, z, y],
        3 => [x, -z, -y],
        4 => [x, -y, z],
        _ => [-x, -y, -z],
    }
}

fn face_of([x, y, z]: [f32; 3]) -> u32 {
    let [ax, ay, az] = [x, y, z].map(f32::abs);
    let (positive, value) = if ax >= ay && ax >= az {
        (0, x)
    } else if ay >= az {
        (2, y)
    } else {
        (4, z)
    };
    if value >= 0.0 { positive } else { positive + 1 }
}

/// Returns the face that a direction points to, and the position on that face, from 0 to 1. The
/// faces are those in the directions x, -x, y, -y, z, and -z.
pub fn face(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let face = face_of(direction);
    let [s, t, out] = on_face(face, direction);
    (face, [s, t].map(|side| (side / out + 1.0) / 2.0))
}

/// Returns the derivative of the position on a face, given the derivative of the direction.
pub fn gradient(direction: [f32; 3], change: [f32; 3]) -> [f32; 2] {
    let face = face_of(direction);
    let [s, t, out] = on_face(face, direction);
    let [ds, dt, d_out] = on_face(face, change);
    [(s, ds), (t, dt)].map(|(side, change)| (change * out - side * d_out) / (2.0 * out * out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_directions_select_faces_and_positions() {
        assert_eq!(face([2.0, 1.0, -1.0]), (0, [0.75, 0.25]));
        assert_eq!(face([-2.0, 1.0, -1.0]), (1, [0.25, 0.25]));
        assert_eq!(face([1.0, 2.0, -1.0]), (2, [0.75, 0.25]));
        assert_eq!(face([1.0, -2.0, -1.0]), (3, [0.75, 0.75]));
        assert_eq!(face([1.0, -1.0, 2.0]), (4, [0.75, 0.75]));
        assert_eq!(face([1.0, -1.0, -2.0]), (5, [0.25, 0.75]));
    }

    #[test]
    fn test_gradients_are_those_of_positions() {
        assert_eq!(gradient([2.0, 0.0, 0.0], [0.0, 1.0, 0.5]), [-0.125, -0.25]);
        // A change of the direction away from the cube's center turns it toward the middle of the
        // face.
        assert_eq!(gradient([1.0, 1.0, -2.0], [0.0, 0.0, -2.0]), [0.25, 0.25]);
        // A longer direction points to the same position.
        assert_eq!(gradient([1.0, 1.0, -2.0], [1.0, 1.0, -2.0]), [0.0, 0.0]);
    }

    #[test]
    fn test_every_direction_selects_a_face() {
        for direction in [[0.0; 3], [f32::NAN; 3], [f32::INFINITY; 3]] {
            assert!(face(direction).0 < 6);
        }
    }
}
