//! The tables as `diesel print-schema` would show them.

pub mod sql_types {
    #[derive(diesel::query_builder::QueryId, diesel::sql_types::SqlType)]
    #[diesel(postgres_type(name = "mood"))]
    pub struct Mood;
}

diesel::table! {
    use diesel::sql_types::*;
    use super::sql_types::Mood;

    people (id) {
        id -> Int4,
        name -> Text,
        mood -> Mood,
        born -> Nullable<Date>,
        tags -> Array<Text>,
        about -> Jsonb,
        balance -> Numeric,
        key -> Uuid,
        made -> Timestamptz,
        photo -> Nullable<Bytea>,
    }
}

diesel::table! {
    posts (id) {
        id -> Int8,
        person_id -> Int4,
        title -> Varchar,
        during -> Int4range,
        updated_at -> Timestamp,
    }
}

diesel::joinable!(posts -> people (person_id));
diesel::allow_tables_to_appear_in_same_query!(people, posts);
