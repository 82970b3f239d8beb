//! How many rows the tables have after the load.

/// Rows of ITEM, whatever the number of warehouses.
pub const ITEMS: i32 = 100_000;
pub const DISTRICTS: i32 = 10;
/// Customers, and orders after the load, of a district.
pub const CUSTOMERS: i32 = 3_000;
/// Orders from this one on are undelivered after the load.
pub const FIRST_UNDELIVERED: i32 = 2_101;
