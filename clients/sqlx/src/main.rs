//! Accounts on sqlx. Each step that ends well is a line `pass sqlx.STEP`, each other a line `fail`.

use std::str::FromStr;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use sqlx::error::ErrorKind;
use sqlx::migrate::Migrator;
use sqlx::postgres::types::{PgInterval, PgRange};
use sqlx::postgres::{PgListener, PgPool, PgPoolCopyExt, PgPoolOptions};
use sqlx::types::chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use sqlx::types::ipnetwork::IpNetwork;
use sqlx::types::{BitVec, Decimal, Json, Uuid};
use sqlx::{Column, Connection, Executor, FromRow, QueryBuilder, Row, Statement, TypeInfo};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

static MIGRATOR: Migrator = sqlx::migrate!();

#[derive(Debug, Clone, Copy, PartialEq, sqlx::Type)]
#[sqlx(type_name = "status", rename_all = "lowercase")]
enum Status {
    Open,
    Closed,
}

#[derive(Debug, Clone, PartialEq, sqlx::Type)]
#[sqlx(type_name = "money_amount")]
struct Money {
    amount: Decimal,
    currency: String,
}

#[derive(Debug, FromRow)]
struct Account {
    id: i64,
    owner: String,
    status: Status,
    balance: Option<Money>,
    limits: Option<PgRange<i64>>,
    tags: Vec<String>,
    address: Option<IpNetwork>,
    flags: Option<BitVec>,
    key: Uuid,
    about: Option<Json<std::collections::BTreeMap<String, i32>>>,
    opened: DateTime<Utc>,
    day: Option<NaiveDate>,
    at: Option<NaiveTime>,
    took: Option<PgInterval>,
    rate: Option<f64>,
}

fn same<T: PartialEq + std::fmt::Debug>(expected: T, actual: T) -> Outcome {
    if expected == actual {
        return Ok(());
    }
    Err(format!("expected {expected:?}, got {actual:?}").into())
}

async fn migrations(pool: &PgPool) -> Outcome {
    MIGRATOR.run(pool).await?;
    // A second run looks at what was applied, under an advisory lock, and does nothing.
    MIGRATOR.run(pool).await?;
    let applied: i64 = sqlx::query_scalar("select count(*) from _sqlx_migrations where success").fetch_one(pool).await?;
    same(2, applied)
}

async fn types_come_back(pool: &PgPool) -> Outcome {
    let key = Uuid::from_u128(7);
    let opened = DateTime::<Utc>::from_str("2024-02-29T23:59:59.123456Z")?;
    let money = Money { amount: Decimal::from_str("-12345.6700")?, currency: "CHF, \"x\"".to_owned() };
    let took = PgInterval { months: -14, days: 3, microseconds: 1_000_001 };
    let about = Json(std::collections::BTreeMap::from([("é".to_owned(), 1), ("b".to_owned(), -2)]));
    let id: i64 = sqlx::query_scalar(
        "insert into accounts (owner, status, balance, limits, tags, address, flags, key, about, opened, day, at, took, rate)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id",
    )
    .bind("Ada")
    .bind(Status::Closed)
    .bind(&money)
    .bind(PgRange::from(1i64..10))
    .bind(vec!["a", "", "c,\"d"])
    .bind(IpNetwork::from_str("10.1.0.0/16")?)
    .bind(BitVec::from_iter([true, false, true]))
    .bind(key)
    .bind(&about)
    .bind(opened)
    .bind(NaiveDate::from_ymd_opt(-43, 3, 15))
    .bind(NaiveTime::from_hms_micro_opt(1, 2, 3, 4))
    .bind(&took)
    .bind(f64::NEG_INFINITY)
    .fetch_one(pool)
    .await?;
    let found: Account = sqlx::query_as("select * from accounts where id = $1").bind(id).fetch_one(pool).await?;
    same((id, "Ada", Status::Closed, Some(money)), (found.id, found.owner.as_str(), found.status, found.balance))?;
    same((Some(PgRange::from(1..10)), vec!["a".to_owned(), String::new(), "c,\"d".to_owned()]), (found.limits, found.tags))?;
    same((Some(IpNetwork::from_str("10.1.0.0/16")?), Some(BitVec::from_iter([true, false, true]))), (found.address, found.flags))?;
    same((key, Some(about), opened), (found.key, found.about, found.opened))?;
    same((NaiveDate::from_ymd_opt(-43, 3, 15), NaiveTime::from_hms_micro_opt(1, 2, 3, 4)), (found.day, found.at))?;
    same((Some(took), Some(f64::NEG_INFINITY)), (found.took, found.rate))
}

async fn nulls_and_arrays(pool: &PgPool) -> Outcome {
    let row = sqlx::query("select $1::int4, $2::text[], array[[1, 2], [3, 4]]::text, $3::money_amount, array[row(1.5, 'x')::money_amount, null]")
        .bind(None::<i32>)
        .bind(vec![Some("x"), None])
        .bind(None::<Money>)
        .fetch_one(pool)
        .await?;
    same((None, vec![Some("x".to_owned()), None]), (row.try_get::<Option<i32>, _>(0)?, row.try_get(1)?))?;
    same("{{1,2},{3,4}}", row.try_get(2)?)?;
    let amounts: Vec<Option<Money>> = row.try_get(4)?;
    same(Some(Decimal::from_str("1.5")?), amounts[0].as_ref().map(|money| money.amount))
}

async fn bulk_by_unnest(pool: &PgPool) -> Outcome {
    let owners: Vec<_> = (0..100).map(|n| format!("owner {n}")).collect();
    let days: Vec<_> = (0..100).map(|n| NaiveDate::from_ymd_opt(2024, 1, 1 + n % 28)).collect();
    let done = sqlx::query("insert into accounts (owner, day) select * from unnest($1::text[], $2::date[])")
        .bind(&owners)
        .bind(&days)
        .execute(pool)
        .await?;
    same(100, done.rows_affected())?;
    let mut builder = QueryBuilder::new("insert into accounts (owner, rate, mail) ");
    builder.push_values(0..300, |mut row, n| {
        row.push_bind(format!("row {n}")).push_bind(f64::from(n) / 8.0).push_bind(format!("{n}@example.org"));
    });
    same(300, builder.build().execute(pool).await?.rows_affected())
}

async fn streams(pool: &PgPool) -> Outcome {
    let mut rows = sqlx::query_as::<_, (i64, String)>("select id, owner from accounts order by id").fetch(pool);
    let mut count = 0;
    while let Some(row) = rows.next().await {
        let (_, owner) = row?;
        count += i32::from(owner.starts_with("row "));
    }
    same(300, count)
}

async fn describes(pool: &PgPool) -> Outcome {
    let described = pool.describe("select id, owner, balance, status, tags, mail, count(*) over () from accounts where id = any($1) and rate > $2").await?;
    let names: Vec<_> = described.columns().iter().map(|column| (column.name(), column.type_info().name().to_owned())).collect();
    same(("mail", "TEXT".to_owned()), names[5].clone())?;
    same(("count", "INT8".to_owned()), names[6].clone())?;
    same((Some(false), Some(true)), (described.nullable(0), described.nullable(2)))?;
    let statement = pool.prepare("select $1::int8 + 1 as next, upper($2)").await?;
    same(2, statement.columns().len())?;
    let plan: String = sqlx::query_scalar("explain (costs off) select 1").fetch_one(pool).await?;
    same("Result", &plan)
}

async fn transactions(pool: &PgPool) -> Outcome {
    let mut outer = pool.begin().await?;
    sqlx::query("update accounts set owner = 'kept' where id = 1").execute(&mut *outer).await?;
    {
        let mut inner = outer.begin().await?;
        sqlx::query("update accounts set owner = 'lost' where id = 1").execute(&mut *inner).await?;
        inner.rollback().await?;
    }
    let owner: String = sqlx::query_scalar("select owner from accounts where id = 1").fetch_one(&mut *outer).await?;
    outer.commit().await?;
    same("kept", &owner)?;
    {
        let mut dropped = pool.begin().await?;
        sqlx::query("delete from accounts").execute(&mut *dropped).await?;
        // Dropped without a word: sqlx rolls back when the connection is next used.
    }
    let count: i64 = sqlx::query_scalar("select count(*) from accounts").fetch_one(pool).await?;
    same(401, count)
}

async fn errors(pool: &PgPool) -> Outcome {
    let error = sqlx::query("insert into transfers (from_id, to_id, amount) values (1, 2, -1)").execute(pool).await.expect_err("a check");
    let error = error.as_database_error().ok_or("not the server's")?;
    same((ErrorKind::CheckViolation, Some("transfers_amount_check"), Some("transfers")), (error.kind(), error.constraint(), error.table()))?;
    let error = sqlx::query("insert into accounts (owner, mail) values ('x', 'nothing')").execute(pool).await.expect_err("a domain");
    same(Some("23514".into()), error.as_database_error().and_then(|error| error.code()))?;
    let error = sqlx::query("select nothing from accounts").execute(pool).await.expect_err("no column");
    let error = error.into_database_error().ok_or("not the server's")?;
    let error = error.downcast::<sqlx::postgres::PgDatabaseError>();
    same(Some(sqlx::postgres::PgErrorPosition::Original(8)), error.position())
}

async fn many_at_once(pool: &PgPool) -> Outcome {
    let transfers = (0..40).map(|n| async move {
        let mut transaction = pool.begin().await?;
        sqlx::query("select id from accounts where id in (2, 3) order by id for update").fetch_all(&mut *transaction).await?;
        sqlx::query("insert into transfers (from_id, to_id, amount) values (2, 3, $1)").bind(Decimal::from(n + 1)).execute(&mut *transaction).await?;
        transaction.commit().await
    });
    futures_util::future::try_join_all(transfers).await?;
    let sum: Decimal = sqlx::query_scalar("select sum(amount) from transfers").fetch_one(pool).await?;
    same(Decimal::new(82000, 2), sum)
}

async fn listens(pool: &PgPool) -> Outcome {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all(["transfers", "other"]).await?;
    let id: i64 = sqlx::query_scalar("insert into transfers (from_id, to_id, amount) values (3, 2, 5) returning id").fetch_one(pool).await?;
    let notice = tokio::time::timeout(Duration::from_secs(5), listener.recv()).await??;
    same(("transfers", id.to_string()), (notice.channel(), notice.payload().to_owned()))?;
    sqlx::query("notify other, 'word'").execute(pool).await?;
    let notice = tokio::time::timeout(Duration::from_secs(5), listener.recv()).await??;
    same("word", notice.payload())
}

async fn copies(pool: &PgPool) -> Outcome {
    let mut copy = pool.copy_in_raw("copy transfers (from_id, to_id, amount) from stdin with (format csv)").await?;
    for n in 0..1000 {
        copy.send(format!("2,3,{n}.5\n").as_bytes()).await?;
    }
    same(1000, copy.finish().await?)?;
    let mut copy = pool.copy_in_raw("copy transfers (from_id, to_id, amount) from stdin").await?;
    copy.send(&b"2\t3\t1\n"[..]).await?;
    copy.abort("changed my mind").await?;
    let chunks: Vec<_> = pool.copy_out_raw("copy (select amount from transfers where amount > 999 order by 1) to stdout").await?.try_collect().await?;
    same(b"999.50\n".to_vec(), chunks.concat())
}

async fn several_statements(pool: &PgPool) -> Outcome {
    let rows = pool.fetch_all("create temp table t (a int); insert into t values (1), (2); select a from t; drop table t").await?;
    same(2, rows.len())
}

async fn advisory_locks(pool: &PgPool) -> Outcome {
    let lock = sqlx::postgres::PgAdvisoryLock::new("of the application");
    let (first, second) = (pool.acquire().await?, pool.acquire().await?);
    let held = lock.acquire(first).await?;
    let second = match lock.try_acquire(second).await? {
        sqlx::Either::Left(_) => return Err("held twice".into()),
        sqlx::Either::Right(connection) => connection,
    };
    held.release_now().await?;
    let held = lock.try_acquire(second).await?;
    same(true, held.is_left())
}

async fn timeouts(pool: &PgPool) -> Outcome {
    let mut connection = pool.acquire().await?;
    sqlx::query("set statement_timeout = '100ms'").execute(&mut *connection).await?;
    let error = sqlx::query("select pg_sleep(5)").execute(&mut *connection).await.expect_err("a timeout");
    same(Some("57014".into()), error.as_database_error().and_then(|error| error.code()))?;
    sqlx::query("reset statement_timeout").execute(&mut *connection).await?;
    connection.ping().await?;
    Ok(())
}

macro_rules! steps {
    ($pool:expr, $($name:ident),+ $(,)?) => {
        $(match $name($pool).await {
            Ok(()) => println!(concat!("pass sqlx.", stringify!($name))),
            Err(error) => {
                println!(concat!("fail sqlx.", stringify!($name)));
                eprintln!(concat!(stringify!($name), ": {}"), error);
            }
        })+
    };
}

#[tokio::main]
async fn main() -> Outcome {
    let pool = PgPoolOptions::new().max_connections(5).connect(&std::env::var("DATABASE_URL")?).await?;
    steps!(
        &pool, migrations, types_come_back, nulls_and_arrays, bulk_by_unnest, streams, describes, transactions, errors,
        many_at_once, listens, copies, several_statements, advisory_locks, timeouts,
    );
    Ok(())
}
