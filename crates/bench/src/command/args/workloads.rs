//! The arguments of the workloads: what is their own, and what they share.

use clap::Args;

use super::{FaultArgs, MeasuredArgs, OpenLoopArgs, OutputArgs, RecordArgs, TargetArgs};
use mote_workload::catalogue::{ACCOUNTS_PER_BRANCH, FIELD_BYTES, HOT_CUSTOMERS, HOT_PERCENT};
use mote_workload::loader::LoadMode;
use mote_workload::tpcc::Isolation;
use mote_workload::ycsb::{FIELD_BYTES_MIN, Letter};

/// What is the same for all workloads.
#[derive(Args, Debug, Clone)]
pub struct WorkloadArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections, each with one transaction under way at any time
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Whether to load
    #[arg(long, value_enum, default_value_t = LoadMode::Auto)]
    pub load: LoadMode,
    /// Connections that load in parallel; default: twice the processors
    #[arg(long, value_name = "N")]
    pub load_connections: Option<usize>,
    /// Isolation level of the transactions; default: the server's
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub isolation: Option<Isolation>,
    /// How often a transaction is run again after 40001 or 40P01; its latency covers all attempts
    #[arg(long, default_value_t = 10)]
    pub retries: u32,
    /// Skip the conditions on the data; what was acknowledged is compared all the same
    #[arg(long)]
    pub no_check: bool,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub open_loop: OpenLoopArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Deposits at a bank: TPC-B's one transaction, with proofs.
///
/// Three updates, a select and an insert in one transaction of six round trips. Every deposit updates one of --branches rows,
/// so with few branches this measures how a system hands a hot row over, and with many how it commits. Its cousin in pgbench
/// draws teller, branch and account independently; here a teller has a branch, and 85 % of the accounts are of that branch,
/// as the specification says.
///
/// Proofs: balances of branches, tellers and accounts are the sums of the history, and the history holds exactly the
/// deposits that were acknowledged. The figures are unaudited and not comparable to published TPC results.
#[derive(Args, Debug)]
pub struct TpcbArgs {
    /// Size of the bank: branches, each with ten tellers and its accounts (about 15 MB)
    #[arg(long, short, default_value_t = 10, value_parser = clap::value_parser!(i32).range(1..=20_000))]
    pub branches: i32,
    /// Accounts of a branch; the specification's are 100,000
    #[arg(long, default_value_t = ACCOUNTS_PER_BRANCH, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub accounts_per_branch: i32,
    #[command(flatten)]
    pub common: WorkloadArgs,
}

/// Records by key: YCSB's core workloads A to F.
///
/// Single statements on a table of a key and ten fields. Popular records follow a zipfian distribution and lie anywhere among
/// the keys; D reads what was inserted last; E scans up to 100 records. What a figure may be compared with: YCSB's JDBC
/// binding with the same letter, records and field length, in a closed loop with as many threads.
///
/// Proofs: every value names its record and field, and its other letters follow from them, so a value that is torn or in the
/// wrong place is found; the number of records is what was loaded and acknowledged.
#[derive(Args, Debug)]
pub struct YcsbArgs {
    /// Which of the core workloads
    #[arg(value_enum, ignore_case = true)]
    pub letter: Letter,
    /// Records to load, of about 1.2 kB
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub records: u64,
    /// Letters of each of the ten fields
    #[arg(long, default_value_t = FIELD_BYTES, value_name = "N", value_parser = parse_field_bytes)]
    pub field_bytes: usize,
    #[command(flatten)]
    pub common: WorkloadArgs,
}

/// A home location register: TATP's seven transactions, 80 % of them reads of a row or two.
///
/// Measures what short statements cost: parsing nothing, planning nothing, one or three round trips. A quarter of the
/// transactions is meant to find nothing or to be refused by a key; the shares that do are audited. Throughput counts all of
/// them, and the columns "skipped" and "rollbacks" tell them apart.
///
/// Proofs: four conditions on the register, and the number of call forwardings is what was acknowledged.
#[derive(Args, Debug)]
pub struct TatpArgs {
    /// Size of the register: subscribers, of about ten rows each
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100_000_000))]
    pub subscribers: i32,
    /// Draw subscribers evenly, not by the description's uneven rule
    #[arg(long)]
    pub uniform: bool,
    #[command(flatten)]
    pub common: WorkloadArgs,
}

/// A bank that an isolation level can spoil: SmallBank's six transactions.
///
/// Short transactions on savings and checking accounts, some of which read what they do not update: under snapshot isolation
/// two of them can agree to an overdraft (write skew), under --isolation serializable they cannot, and run again instead.
/// What that costs is the figure.
///
/// Proofs: the sum of all balances is what was there before and what was acknowledged since, at every level; every customer
/// has both accounts; from REPEATABLE READ on no savings account is overdrawn.
#[derive(Args, Debug)]
pub struct SmallBankArgs {
    /// Size of the bank
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(i32).range(2..=100_000_000))]
    pub customers: i32,
    /// Customers that many transactions are about
    #[arg(long, default_value_t = HOT_CUSTOMERS, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub hot_customers: i32,
    /// How many of 100 transactions are about them
    #[arg(long, default_value_t = HOT_PERCENT, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub hot_percent: u32,
    #[command(flatten)]
    pub common: WorkloadArgs,
}

fn parse_field_bytes(text: &str) -> Result<usize, String> {
    let bytes: usize = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if (FIELD_BYTES_MIN..=10_000).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!(
            "a field has {FIELD_BYTES_MIN} to 10000 letters: the first name its record and version"
        ))
    }
}
