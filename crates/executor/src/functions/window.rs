//! Window functions proper: what each reads of its partition. Aggregates over frames are the node's business.

/// A window function, resolved from its body's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowBody {
    RowNumber,
    Rank,
    /// Goes by peers, as do dense_rank, percent_rank and cume_dist.
    DenseRank,
    PercentRank,
    CumeDist,
    /// The bucket of nearly equal size that the row falls into.
    Ntile,
    /// The row this many before (`lag`) or after (`lead`) the current one in the partition.
    Lag,
    Lead,
    /// A row of the frame, not of the whole partition.
    FirstValue,
    LastValue,
    NthValue,
}

pub fn body(name: &str) -> Option<WindowBody> {
    Some(match name {
        "window_row_number" => WindowBody::RowNumber,
        "window_rank" => WindowBody::Rank,
        "window_dense_rank" => WindowBody::DenseRank,
        "window_percent_rank" => WindowBody::PercentRank,
        "window_cume_dist" => WindowBody::CumeDist,
        "window_ntile" => WindowBody::Ntile,
        "window_lag" | "window_lag_with_offset" | "window_lag_with_offset_and_default" => WindowBody::Lag,
        "window_lead" | "window_lead_with_offset" | "window_lead_with_offset_and_default" => WindowBody::Lead,
        "window_first_value" => WindowBody::FirstValue,
        "window_last_value" => WindowBody::LastValue,
        "window_nth_value" => WindowBody::NthValue,
        _ => return None,
    })
}
