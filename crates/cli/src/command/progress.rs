//! A progress bar on standard error, for work that is counted in bytes or steps.

use indicatif::{ProgressBar, ProgressStyle};

/// Nothing is drawn if `quiet`, or where standard error is no terminal.
pub fn bytes_bar(quiet: bool) -> ProgressBar {
    bar(
        quiet,
        "{msg:>12} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    )
}

/// The same for steps.
pub fn steps_bar(quiet: bool) -> ProgressBar {
    bar(quiet, "{msg:>24} {wide_bar} {pos} of {len}")
}

fn bar(quiet: bool, template: &str) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
