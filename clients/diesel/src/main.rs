//! People and their posts on Diesel. Each step that ends well is a line `pass diesel.STEP`, each other a line `fail`.

mod schema;

use std::collections::Bound;
use std::io::Write;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use chrono::NaiveDate;
use diesel::connection::DefaultLoadingMode;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{CopyHeader, Pg, PgValue};
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::upsert::excluded;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use schema::{people, posts, sql_types};

type Outcome = Result<(), Box<dyn std::error::Error>>;
type Step = fn(&mut PgConnection) -> Outcome;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

/// Diesel's own set-up of a database makes this function.
const SET_UP: &str = "
    create or replace function diesel_manage_updated_at(_tbl regclass) returns void as $$
    begin
        execute format('create trigger set_updated_at before update on %s
                        for each row execute procedure diesel_set_updated_at()', _tbl);
    end;
    $$ language plpgsql;
    create or replace function diesel_set_updated_at() returns trigger as $$
    begin
        if (new is distinct from old and new.updated_at is not distinct from old.updated_at) then
            new.updated_at := current_timestamp;
        end if;
        return new;
    end;
    $$ language plpgsql;";

#[derive(Debug, Clone, Copy, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = sql_types::Mood)]
enum Mood {
    Calm,
    Busy,
}

impl ToSql<sql_types::Mood, Pg> for Mood {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(if *self == Mood::Calm { b"calm" } else { b"busy" })?;
        Ok(IsNull::No)
    }
}

impl FromSql<sql_types::Mood, Pg> for Mood {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        match value.as_bytes() {
            b"calm" => Ok(Mood::Calm),
            b"busy" => Ok(Mood::Busy),
            _ => Err("no mood".into()),
        }
    }
}

#[derive(Debug, Queryable, Selectable, Identifiable)]
#[diesel(table_name = people)]
struct Person {
    id: i32,
    name: String,
    mood: Mood,
    born: Option<NaiveDate>,
    tags: Vec<String>,
    about: serde_json::Value,
    balance: BigDecimal,
    photo: Option<Vec<u8>>,
}

#[derive(Insertable)]
#[diesel(table_name = people)]
struct NewPerson {
    name: String,
    mood: Mood,
    born: Option<NaiveDate>,
    tags: Vec<String>,
    about: serde_json::Value,
    balance: BigDecimal,
    photo: Option<Vec<u8>>,
}

#[derive(Debug, Queryable, Selectable, Identifiable, Associations)]
#[diesel(table_name = posts, belongs_to(Person))]
struct Post {
    id: i64,
    person_id: i32,
    title: String,
}

fn same<T: PartialEq + std::fmt::Debug>(expected: T, actual: T) -> Outcome {
    if expected == actual {
        return Ok(());
    }
    Err(format!("expected {expected:?}, got {actual:?}").into())
}

fn person(number: i32) -> NewPerson {
    NewPerson {
        name: format!("Person {number}"),
        mood: if number % 3 == 0 { Mood::Busy } else { Mood::Calm },
        born: NaiveDate::from_ymd_opt(1970 + number, 2, 28),
        tags: vec![format!("t{}", number % 2), "all, \"quoted\"".to_owned()],
        about: serde_json::json!({"number": number, "deep": {"list": [1, "é", null]}}),
        balance: BigDecimal::from_str("10.25").expect("a number") * BigDecimal::from(number),
        photo: (number % 2 == 0).then(|| vec![0, 255, number as u8]),
    }
}

fn migrations(connection: &mut PgConnection) -> Outcome {
    diesel::RunQueryDsl::execute(diesel::sql_query("select 1"), connection)?;
    diesel::connection::SimpleConnection::batch_execute(connection, SET_UP)?;
    let run = |error| format!("{error}");
    same(2, connection.run_pending_migrations(MIGRATIONS).map_err(run)?.len())?;
    connection.revert_last_migration(MIGRATIONS).map_err(run)?;
    same(1, connection.pending_migrations(MIGRATIONS).map_err(run)?.len())?;
    connection.run_pending_migrations(MIGRATIONS).map_err(run)?;
    same(2, connection.applied_migrations().map_err(run)?.len())
}

fn batch_insert(connection: &mut PgConnection) -> Outcome {
    let new: Vec<_> = (0..50).map(person).collect();
    let ids: Vec<i32> = diesel::insert_into(people::table).values(&new).returning(people::id).get_results(connection)?;
    same((1..=50).collect::<Vec<_>>(), ids)?;
    let posts: Vec<_> = (0..120)
        .map(|n| (posts::person_id.eq(n % 40 + 1), posts::title.eq(format!("Post {n}")), posts::during.eq((Bound::Included(n), Bound::Excluded(n + 5)))))
        .collect();
    same(120, diesel::insert_into(posts::table).values(&posts).execute(connection)?)
}

fn types_come_back(connection: &mut PgConnection) -> Outcome {
    let found = people::table.filter(people::name.eq("Person 3")).select(Person::as_select()).first(connection)?;
    let wanted = person(3);
    same((wanted.mood, wanted.born, wanted.tags), (found.mood, found.born, found.tags))?;
    same((wanted.about, wanted.balance, wanted.photo), (found.about, found.balance, found.photo))?;
    same((4, "Person 3".to_owned()), (found.id, found.name))
}

fn filters(connection: &mut PgConnection) -> Outcome {
    use diesel::dsl::{count_star, exists, not};
    use diesel::pg::expression::dsl::array;
    let count = |query: people::BoxedQuery<'static, Pg>, connection: &mut PgConnection| query.select(count_star()).get_result::<i64>(connection);
    same(17, count(people::table.filter(people::mood.eq(Mood::Busy)).into_boxed(), connection)?)?;
    same(25, count(people::table.filter(people::tags.contains(vec!["t1"])).into_boxed(), connection)?)?;
    same(50, count(people::table.filter(people::tags.overlaps_with(array((" ", "all, \"quoted\"")))).into_boxed(), connection)?)?;
    same(1, count(people::table.filter(people::about.contains(serde_json::json!({"number": 7}))).into_boxed(), connection)?)?;
    same(3, count(people::table.filter(people::id.eq_any(vec![1, 2, 3, 999])).into_boxed(), connection)?)?;
    same(48, count(people::table.filter(people::id.ne_all(vec![1, 2])).into_boxed(), connection)?)?;
    same(11, count(people::table.filter(people::name.ilike("person 1%")).into_boxed(), connection)?)?;
    same(10, count(people::table.filter(not(exists(posts::table.filter(posts::person_id.eq(people::id))))).into_boxed(), connection)?)?;
    same(15, count(people::table.filter(people::born.is_null().or(people::born.lt(NaiveDate::from_ymd_opt(1985, 1, 1)))).into_boxed(), connection)?)?;
    let inside: i64 = posts::table.filter(posts::during.contains(10)).count().get_result(connection)?;
    same(5, inside)
}

fn joins_and_groups(connection: &mut PgConnection) -> Outcome {
    let rows: Vec<(String, i64)> = people::table
        .left_join(posts::table)
        .group_by(people::id)
        .having(diesel::dsl::count(posts::id.nullable()).eq(0))
        .order(people::name.desc())
        .limit(2)
        .select((people::name, diesel::dsl::count(posts::id.nullable())))
        .load(connection)?;
    same(vec![("Person 49".to_owned(), 0), ("Person 48".to_owned(), 0)], rows)?;
    let writers = people::table.filter(people::id.le(2)).order(people::id).select(Person::as_select()).load(connection)?;
    let of_each = Post::belonging_to(&writers).select(Post::as_select()).load(connection)?.grouped_by(&writers);
    same(vec![3, 3], of_each.iter().map(Vec::len).collect::<Vec<_>>())?;
    same((1, "Post 0"), (of_each[0][0].person_id, of_each[0][0].title.as_str()))?;
    same(true, of_each[0][0].id > 0)?;
    let newest: Vec<(i32, String)> = posts::table
        .distinct_on(posts::person_id)
        .order((posts::person_id, posts::id.desc()))
        .select((posts::person_id, posts::title))
        .limit(2)
        .load(connection)?;
    same(vec![(1, "Post 80".to_owned()), (2, "Post 81".to_owned())], newest)
}

fn set_operations(connection: &mut PgConnection) -> Outcome {
    let all: Vec<String> = people::table.filter(people::id.lt(3)).select(people::name)
        .union(posts::table.filter(posts::id.eq(1)).select(posts::title))
        .load(connection)?;
    same(3, all.len())?;
    let one: Vec<i32> = people::table.filter(people::id.lt(3)).select(people::id)
        .except(people::table.filter(people::id.eq(1)).select(people::id))
        .load(connection)?;
    same(vec![2], one)
}

fn changes(connection: &mut PgConnection) -> Outcome {
    let changed = diesel::update(people::table.filter(people::id.le(5)))
        .set((people::balance.eq(people::balance + BigDecimal::from(1)), people::born.eq(None::<NaiveDate>)))
        .execute(connection)?;
    same(5, changed)?;
    let before: chrono::NaiveDateTime = posts::table.find(1).select(posts::updated_at).first(connection)?;
    diesel::update(posts::table.find(1)).set(posts::title.eq("New")).execute(connection)?;
    let after: chrono::NaiveDateTime = posts::table.find(1).select(posts::updated_at).first(connection)?;
    same(true, after > before)?;
    let gone: Vec<String> = diesel::delete(posts::table.filter(posts::id.gt(118))).returning(posts::title).get_results(connection)?;
    same(2, gone.len())
}

fn upsert(connection: &mut PgConnection) -> Outcome {
    let rows = vec![(people::id.eq(1), people::name.eq("One")), (people::id.eq(1000), people::name.eq("Thousand"))];
    let names: Vec<String> = diesel::insert_into(people::table)
        .values(&rows)
        .on_conflict(people::id)
        .do_update()
        .set(people::name.eq(excluded(people::name)))
        .returning(people::name)
        .get_results(connection)?;
    same(vec!["One".to_owned(), "Thousand".to_owned()], names)?;
    let nothing = diesel::insert_into(people::table).values(&rows).on_conflict_do_nothing().execute(connection)?;
    same(0, nothing)
}

fn errors(connection: &mut PgConnection) -> Outcome {
    let twice = diesel::insert_into(people::table).values(people::name.eq("ONE")).execute(connection);
    let Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, about)) = twice else {
        return Err(format!("{twice:?}").into());
    };
    same((Some("people"), Some("people_name")), (about.table_name(), about.constraint_name()))?;
    let nobody = diesel::insert_into(posts::table).values((posts::person_id.eq(-1), posts::title.eq("x"))).execute(connection);
    same(true, matches!(nobody, Err(Error::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _))))?;
    let null = diesel::sql_query("insert into people (name) values (null)").execute(connection);
    let Err(Error::DatabaseError(DatabaseErrorKind::NotNullViolation, about)) = null else {
        return Err(format!("{null:?}").into());
    };
    same(Some("name"), about.column_name())
}

fn transactions(connection: &mut PgConnection) -> Outcome {
    let count = |connection: &mut PgConnection| people::table.count().get_result::<i64>(connection);
    let before = count(connection)?;
    connection.transaction::<_, Error, _>(|connection| {
        diesel::insert_into(people::table).values(people::name.eq("kept")).execute(connection)?;
        // A transaction in a transaction is a savepoint.
        let inner = connection.transaction::<(), _, _>(|connection| {
            diesel::insert_into(people::table).values(people::name.eq("lost")).execute(connection)?;
            Err(Error::RollbackTransaction)
        });
        assert!(inner.is_err());
        Ok(())
    })?;
    same(before + 1, count(connection)?)?;
    let refused = connection.build_transaction().serializable().read_only().deferrable().run(|connection| {
        diesel::insert_into(people::table).values(people::name.eq("x")).execute(connection)
    });
    same(true, matches!(refused, Err(Error::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _))))?;
    let mut other = connect();
    connection.transaction::<_, Box<dyn std::error::Error>, _>(|connection| {
        let mine: i32 = people::table.find(1).select(people::id).for_update().first(connection)?;
        let free: Vec<i32> = people::table.filter(people::id.le(2)).select(people::id).for_update().skip_locked().load(&mut other)?;
        same((1, vec![2]), (mine, free))?;
        let refused = people::table.find(1).select(people::id).for_update().no_wait().first::<i32>(&mut other);
        same(true, refused.is_err())
    })
}

fn copy(connection: &mut PgConnection) -> Outcome {
    let rows: Vec<_> = (0..500).map(|n| (posts::person_id.eq(n % 5 + 1), posts::title.eq(format!("copied\t{n}\\")))).collect();
    let count = diesel::copy_from(posts::table).from_insertable(&rows).execute(connection)?;
    same(500, count)?;
    same(500, posts::table.filter(posts::title.like("copied%")).count().get_result::<i64>(connection)?)?;
    let mut text = String::new();
    let mut copied = diesel::copy_to(posts::table).with_format(diesel::pg::CopyFormat::Csv).with_header(true).load_raw(connection)?;
    std::io::Read::read_to_string(&mut copied, &mut text)?;
    drop(copied);
    let _ = CopyHeader::Set(true);
    same(true, text.starts_with("id,person_id,title,during,updated_at\n"))
}

fn streams(connection: &mut PgConnection) -> Outcome {
    let mut by_row = 0;
    for row in posts::table.select(posts::id).load_iter::<i64, diesel::pg::PgRowByRowLoadingMode>(connection)? {
        row?;
        by_row += 1;
    }
    let at_once = posts::table.select(posts::id).load_iter::<i64, DefaultLoadingMode>(connection)?.count();
    same((618, 618), (by_row, at_once))
}

fn raw_sql(connection: &mut PgConnection) -> Outcome {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = diesel::sql_types::Text)]
        name: String,
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        place: i64,
    }
    let rows: Vec<Row> = diesel::sql_query("select name, row_number() over (order by id) as place from busy where id > $1 order by id limit 2")
        .bind::<diesel::sql_types::Integer, _>(10)
        .load(connection)?;
    same(("Person 12", 1), (rows[0].name.as_str(), rows[0].place))
}

fn connect() -> PgConnection {
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL names the server");
    PgConnection::establish(&url).expect("the server answers")
}

fn main() {
    let mut connection = connect();
    let steps: [(&str, Step); 13] = [
        ("migrations", migrations),
        ("batch_insert", batch_insert),
        ("types_come_back", types_come_back),
        ("filters", filters),
        ("joins_and_groups", joins_and_groups),
        ("set_operations", set_operations),
        ("changes", changes),
        ("upsert", upsert),
        ("errors", errors),
        ("transactions", transactions),
        ("copy", copy),
        ("streams", streams),
        ("raw_sql", raw_sql),
    ];
    for (name, step) in steps {
        match step(&mut connection) {
            Ok(()) => println!("pass diesel.{name}"),
            Err(error) => {
                println!("fail diesel.{name}");
                eprintln!("{name}: {error}");
            }
        }
    }
}
