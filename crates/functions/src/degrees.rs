//! Trigonometry in degrees: exact at the angles where degrees are exact.
//!
//! As in PostgreSQL, angles are brought into the first quadrant, and there the radian functions are scaled so that the
//! well-known values (30, 45, 60 degrees) come out without a rounding error.

const RADIANS_PER_DEGREE: f64 = std::f64::consts::PI / 180.0;

fn radians(x: f64) -> f64 {
    x * RADIANS_PER_DEGREE
}

/// sin for 0..=30 degrees, with sin 30 = 0.5.
fn sin_to_30(x: f64) -> f64 {
    radians(x).sin() / radians(30.0).sin() / 2.0
}

/// cos for 0..=60 degrees, with cos 60 = 0.5.
fn cos_to_60(x: f64) -> f64 {
    1.0 - (1.0 - radians(x).cos()) / (1.0 - radians(60.0).cos()) / 2.0
}

fn sin_first_quadrant(x: f64) -> f64 {
    if x <= 30.0 {
        sin_to_30(x)
    } else {
        cos_to_60(90.0 - x)
    }
}

fn cos_first_quadrant(x: f64) -> f64 {
    if x <= 60.0 {
        cos_to_60(x)
    } else {
        sin_to_30(90.0 - x)
    }
}

/// The symmetries of the circle bring the angle into 0..=90 degrees; the sign is kept aside.
pub fn sin(x: f64) -> f64 {
    let (mut x, mut sign) = (x % 360.0, 1.0);
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        x = 180.0 - x;
    }
    sign * sin_first_quadrant(x)
}

pub fn cos(x: f64) -> f64 {
    let (mut x, mut sign) = ((x % 360.0).abs(), 1.0);
    if x > 180.0 {
        x = 360.0 - x;
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    sign * cos_first_quadrant(x)
}

/// The angle in the first quadrant and the sign that tan and cot share.
fn quotient_angle(x: f64) -> (f64, f64) {
    let (mut x, mut sign) = (x % 360.0, 1.0);
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    (x, sign)
}

/// sin by cos: infinite at 90 degrees.
pub fn tan(x: f64) -> f64 {
    let (x, sign) = quotient_angle(x);
    // Divided by it, so that tan 45 is exactly 1.
    let tan_45 = sin_first_quadrant(45.0) / cos_first_quadrant(45.0);
    let result = sign * (sin_first_quadrant(x) / cos_first_quadrant(x) / tan_45);
    // Never -0, whose division would be another infinity.
    if result == 0.0 { 0.0 } else { result }
}

pub fn cot(x: f64) -> f64 {
    let (x, sign) = quotient_angle(x);
    let cot_45 = cos_first_quadrant(45.0) / sin_first_quadrant(45.0);
    let result = sign * (cos_first_quadrant(x) / sin_first_quadrant(x) / cot_45);
    if result == 0.0 { 0.0 } else { result }
}

/// For 0..=1, exact at 0.5: two arcs are scaled to 30 and to 60 degrees.
fn asin_first_quadrant(x: f64) -> f64 {
    if x <= 0.5 {
        x.asin() / 0.5f64.asin() * 30.0
    } else {
        90.0 - x.acos() / 0.5f64.acos() * 60.0
    }
}

pub fn asin(x: f64) -> f64 {
    if x >= 0.0 {
        asin_first_quadrant(x)
    } else {
        -asin_first_quadrant(-x)
    }
}

fn acos_first_quadrant(x: f64) -> f64 {
    if x <= 0.5 {
        90.0 - x.asin() / 0.5f64.asin() * 30.0
    } else {
        x.acos() / 0.5f64.acos() * 60.0
    }
}

pub fn acos(x: f64) -> f64 {
    if x >= 0.0 {
        acos_first_quadrant(x)
    } else {
        90.0 + asin_first_quadrant(-x)
    }
}

/// Scaled so that atan 1 is exactly 45.
pub fn atan(x: f64) -> f64 {
    x.atan() / 1.0f64.atan() * 45.0
}

pub fn atan2(y: f64, x: f64) -> f64 {
    y.atan2(x) / 1.0f64.atan() * 45.0
}
