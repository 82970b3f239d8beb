//! Range types: CREATE TYPE .. AS RANGE.
//!
//! One statement makes the range type, its multirange type and five functions that make values of them. The functions are
//! routines of the language `internal`, found and called as any other; the types share a number (`catalog::user`). All of
//! it goes with the range type alone (`user_type`). PostgreSQL: DefineRange (typecmds.c).
//! Leaves out: CANONICAL, whose function would have to be there before the type.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{CreateRangeType, DefinitionOption, OptionValue, QualifiedName, TypeName};
use mote_sql::builtin::function::{Callable, Volatility, callables_named};
use mote_sql::catalog::CatalogView;
use mote_sql::catalog::index_method::IndexMethod;
use mote_types::catalog::range::range_of;
use mote_types::catalog::type_info;
use mote_types::catalog::user::{is_composite, range_oid, user_multirange_of};
use mote_types::{ColumnType, format_type, oid};

use super::acl::AclKind;
use super::{function, index_keys, new_privileges, privileges, schema, user_type};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Revision;
use mote_catalog::catalog_store::stored::{
    StoredArgument, StoredObject, StoredRange, StoredRoutine, StoredType, StoredUserType,
};
use mote_catalog::tag::CommandTag;
use mote_catalog::views::builtin;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// How many range types may be made one of the other.
const NESTING_MAX: usize = 32;
/// As PostgreSQL's NAMEDATALEN has it, without the byte that ends a name.
const NAME_BYTES_MAX: usize = 63;

impl Command for CreateRangeType {
    fn name(&self) -> &'static str {
        "CREATE TYPE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

/// The options as they were written.
#[derive(Default)]
struct Options<'a> {
    subtype: Option<&'a DefinitionOption>,
    operator_class: Option<&'a DefinitionOption>,
    collation: Option<&'a DefinitionOption>,
    canonical: Option<&'a DefinitionOption>,
    difference: Option<&'a DefinitionOption>,
    multirange: Option<&'a DefinitionOption>,
}

impl<'a> Options<'a> {
    fn read(options: &'a [DefinitionOption], context: &StatementContext<'_>) -> SqlResult<Options<'a>> {
        let mut read = Options::default();
        for option in options {
            let slot = match &*option.name {
                "subtype" => &mut read.subtype,
                "subtype_opclass" => &mut read.operator_class,
                "collation" => &mut read.collation,
                "canonical" => &mut read.canonical,
                "subtype_diff" => &mut read.difference,
                "multirange_type_name" => &mut read.multirange,
                name => {
                    let message = format!("type attribute \"{name}\" not recognized");
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
            };
            if slot.replace(option).is_some() {
                let place = option.location.position(&context.session.statement_text);
                let message = "conflicting or redundant options";
                return Err(SqlError::new(state::SYNTAX_ERROR, message).at(place));
            }
        }
        Ok(read)
    }
}

/// The name that an option gives, and the type of that name.
fn named(option: &DefinitionOption) -> SqlResult<TypeName> {
    let wrong = |message: String| Err(SqlError::new(state::SYNTAX_ERROR, message));
    match &option.value {
        Some(OptionValue::Type(name)) => Ok(name.clone()),
        Some(OptionValue::Name(name)) => Ok(of_name(name.clone())),
        Some(OptionValue::String(name)) => Ok(of_name(QualifiedName {
            parts: vec![(&**name).into()],
            location: option.location,
        })),
        Some(_) => wrong(format!("argument of {} must be a name", option.name)),
        None => wrong(format!("{} requires a parameter", option.name)),
    }
}

fn of_name(name: QualifiedName) -> TypeName {
    TypeName {
        location: name.location,
        name,
        modifiers: Vec::new(),
        array_bounds: Vec::new(),
        set_of: false,
        percent_type: false,
    }
}

fn create(create: &CreateRangeType, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let name = schema::relation_name(&create.name);
    let (schema_oid, _) = schema::schema_for_creation(&name, context)?;
    if context.session.catalog.is_temporary_schema(schema_oid) {
        return Err(SqlError::unsupported("a type in a temporary schema"));
    }
    user_type::claim_name(schema_oid, &name.name, context)?;
    let options = Options::read(&create.options, context)?;
    let range = definition(&options, context)?;
    let mut ty = user_type::new_type(range_oid, schema_oid, &name.name, context)?;
    let mut multirange = StoredUserType {
        oid: user_multirange_of(Oid(ty.oid)).map_or(0, |oid| oid.0),
        ..ty.clone()
    };
    // Before the multirange looks for a name, which may be this one.
    ty.range = Some(range);
    write::put(StoredObject::Type(ty.clone()), context)?;
    name_multirange(&mut multirange, &ty, options.multirange, context)?;
    write::put(StoredObject::Type(multirange.clone()), context)?;
    let subtype = ty.range.as_ref().map_or(0, |range| range.subtype);
    let constructors = range_constructors(&ty, subtype, context)?;
    let multirange_constructors = multirange_constructors(&ty, &multirange, context)?;
    let cast = context.session.catalog.store().allocate_oid().0;
    if let Some(range) = &mut ty.range {
        range.constructors = constructors;
        range.multirange_constructors = multirange_constructors;
        range.cast = cast;
    }
    let known = context.session.catalog.current();
    if let Some(entry) = known.user_type(Oid(ty.oid)) {
        ty.revision = entry.stored.revision;
    }
    write::put(StoredObject::Type(ty), context)?;
    Ok(CommandTag::Word("CREATE TYPE"))
}

/// What the range is made of.
fn definition(options: &Options<'_>, context: &StatementContext<'_>) -> SqlResult<StoredRange> {
    let subtype = options
        .subtype
        .ok_or_else(|| SqlError::new(state::SYNTAX_ERROR, "type attribute \"subtype\" is required"))?;
    // PostgreSQL shows no place for these errors.
    let (subtype, domain) = mote_sql::resolve_declared_type(&named(subtype)?, &context.session.catalog)?;
    let subtype = subtype.oid;
    if domain.is_some() {
        return Err(SqlError::unsupported("a range over a domain"));
    }
    if type_info(subtype).is_some_and(|info| info.kind == b'p') || subtype == oid::UNKNOWN {
        let message = format!("range subtype cannot be {}", format_type(subtype, -1));
        return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    }
    if is_composite(subtype) && context.session.catalog.user_type(subtype).is_none() {
        return Err(SqlError::unsupported("a range over the rows of a table"));
    }
    check_depth(subtype, context)?;
    let operator_class = operator_class(subtype, options.operator_class)?;
    let collation = collation(subtype, options.collation)?;
    if options.canonical.is_some() {
        return Err(SqlError::new(
            state::INVALID_OBJECT_DEFINITION,
            "cannot specify a canonical function without a pre-created shell type",
        )
        .hint(
            "Create the type as a shell type, then create its canonicalization function, then do a full CREATE TYPE.",
        ));
    }
    let difference = match options.difference {
        Some(option) => difference(&named(option)?.name, subtype, context)?,
        None => Oid::INVALID,
    };
    Ok(StoredRange {
        subtype: subtype.0,
        operator_class: operator_class.0,
        collation: collation.0,
        difference: difference.0,
        constructors: Vec::new(),
        multirange_constructors: Vec::new(),
        cast: 0,
    })
}

/// Values are compared and shown bound by bound, ranges within ranges deeper on the stack.
fn check_depth(subtype: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    let mut below = Some(subtype);
    for _ in 0..NESTING_MAX {
        let Some(ty) = below else { return Ok(()) };
        let ty = ColumnType::new(ty).element().map_or(ty, |element| element.oid);
        let range = range_of(ty).unwrap_or(ty);
        below = context
            .session
            .catalog
            .user_type(range)
            .and_then(|range| range.subtype);
    }
    let message = format!("ranges of ranges are nested deeper than {NESTING_MAX}");
    Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message))
}

/// The class by which bounds compare. All that a type may name sort alike.
fn operator_class(subtype: Oid, written: Option<&DefinitionOption>) -> SqlResult<Oid> {
    if let Some(option) = written {
        let name = named(option)?.name;
        let own = index_keys::class_of(&name, ColumnType::new(subtype), IndexMethod::Btree)?;
        return Ok(own.unwrap_or_else(|| builtin::default_operator_class(IndexMethod::Btree, subtype)));
    }
    let own = match subtype {
        // Of an order of their own PostgreSQL knows nothing.
        oid::XID | oid::CID => Oid::INVALID,
        row if is_composite(row) => builtin::default_operator_class(IndexMethod::Btree, oid::RECORD),
        other => builtin::default_operator_class(IndexMethod::Btree, other),
    };
    match own {
        Oid::INVALID => {
            let name = format_type(subtype, -1);
            let message =
                format!("data type {name} has no default operator class for access method \"btree\"");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message).hint(
                "You must specify an operator class for the range type or define a default operator class for the subtype.",
            ))
        }
        class => Ok(class),
    }
}

fn collation(subtype: Oid, written: Option<&DefinitionOption>) -> SqlResult<Oid> {
    let own = type_info(subtype).map_or(Oid::INVALID, |info| info.collation);
    let Some(option) = written else { return Ok(own) };
    let name = named(option)?.name;
    let known = builtin::COLLATIONS
        .iter()
        .find(|known| known.name == name.last() && matches!(name.qualifier(), None | Some("pg_catalog")));
    let known = known.ok_or_else(|| {
        let name = name.parts.join(".");
        let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
        SqlError::new(state::UNDEFINED_OBJECT, message)
    });
    match own {
        Oid::INVALID => Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            "range collation specified but subtype does not support collation",
        )),
        _ => known.map(|known| known.oid),
    }
}

/// The function of `subtype_diff`: takes two values of the subtype, and says how far they are from one another.
fn difference(name: &QualifiedName, subtype: Oid, context: &StatementContext<'_>) -> SqlResult<Oid> {
    let inputs = [subtype, subtype];
    let catalog = &context.session.catalog;
    let made = catalog.routines_named(name.qualifier(), name.last());
    let made = made.iter().find(|routine| routine.input_types() == inputs);
    let built_in = || {
        let mut callables = match name.qualifier() {
            None | Some("pg_catalog") => callables_named(name.last()).iter(),
            Some(_) => [].iter(),
        };
        callables.find_map(|callable| match callable {
            Callable::Function(id) if id.signature().arguments == inputs => Some(id.signature()),
            _ => None,
        })
    };
    let (oid, result, volatility) = match (built_in(), made) {
        (Some(known), _) => (known.oid, known.result, known.volatility),
        (None, Some(routine)) => (routine.oid, routine.result.ty.oid, routine.volatility),
        (None, None) => {
            let message = format!("function {} does not exist", signature(name, subtype));
            return Err(SqlError::new(state::UNDEFINED_FUNCTION, message));
        }
    };
    let wrong = |what: &str| {
        let message = format!(
            "range subtype diff function {} must {what}",
            signature(name, subtype)
        );
        Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message))
    };
    if result != oid::FLOAT8 {
        return wrong("return type double precision");
    }
    if volatility != Volatility::Immutable {
        return wrong("be immutable");
    }
    if let Some(routine) = made.filter(|routine| routine.oid == oid) {
        privileges::check_routine(catalog, routine)?;
    }
    Ok(oid)
}

fn signature(name: &QualifiedName, subtype: Oid) -> String {
    let ty = format_type(subtype, -1);
    format!("{}({ty}, {ty})", name.parts.join("."))
}

/// Gives the multirange type its name and schema, reserved.
fn name_multirange(
    multirange: &mut StoredUserType,
    range: &StoredUserType,
    written: Option<&DefinitionOption>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    match written {
        Some(option) => {
            let name = schema::relation_name(&named(option)?.name);
            multirange.schema = schema::schema_for_creation(&name, context)?.0.0;
            multirange.name = name.name.to_string();
        }
        None => multirange.name = derived_name(&range.name),
    }
    if context
        .session
        .catalog
        .is_temporary_schema(Oid(multirange.schema))
    {
        return Err(SqlError::unsupported("a type in a temporary schema"));
    }
    let claimed = user_type::claim_name(Oid(multirange.schema), &multirange.name, context);
    claimed.map_err(|error| match written {
        None if error.state() == state::DUPLICATE_OBJECT => error
            .detail(format!(
                "Failed while creating a multirange type for type \"{}\".",
                range.name
            ))
            .hint(
                "You can manually specify a multirange type name using the \"multirange_type_name\" attribute.",
            ),
        _ => error,
    })
}

/// `multirange` in the place of the first `range`, or `_multirange` behind a name without one.
fn derived_name(range: &str) -> String {
    let made = match range.find("range") {
        Some(at) => format!("{}multi{}", &range[..at], &range[at..]),
        None => {
            let suffix = "_multirange";
            format!("{}{suffix}", cut(range, NAME_BYTES_MAX - suffix.len()))
        }
    };
    cut(&made, NAME_BYTES_MAX).to_string()
}

/// As much of a name as fits.
fn cut(name: &str, bytes: usize) -> &str {
    &name[..name.floor_char_boundary(bytes)]
}

/// `range(lower, upper)` and `range(lower, upper, bounds)`.
fn range_constructors(
    ty: &StoredUserType,
    subtype: u32,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<u32>> {
    let inputs = [subtype, subtype, oid::TEXT.0];
    let mut made = Vec::with_capacity(2);
    for (body, count) in [("range_constructor2", 2), ("range_constructor3", 3)] {
        let arguments = inputs[..count].iter().map(|ty| argument('i', *ty));
        made.push(constructor(ty, body, arguments.collect(), false, context)?);
    }
    Ok(made)
}

/// `multirange()`, `multirange(range)` and `multirange(VARIADIC range[])`.
fn multirange_constructors(
    range: &StoredUserType,
    multirange: &StoredUserType,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<u32>> {
    let array = ColumnType::new(Oid(range.oid)).array_of();
    let array = array.map_or(0, |array| array.oid.0);
    let bodies = [
        ("multirange_constructor0", Vec::new()),
        ("multirange_constructor1", vec![argument('i', range.oid)]),
        ("multirange_constructor2", vec![argument('v', array)]),
    ];
    let mut made = Vec::with_capacity(bodies.len());
    for (body, arguments) in bodies {
        made.push(constructor(multirange, body, arguments, true, context)?);
    }
    Ok(made)
}

fn argument(mode: char, ty: u32) -> StoredArgument {
    StoredArgument {
        name: String::new(),
        mode,
        ty: StoredType {
            oid: ty,
            row_of: None,
        },
        default: None,
    }
}

/// A function that bears the name of the type and answers a value of it.
fn constructor(
    ty: &StoredUserType,
    body: &str,
    arguments: Vec<StoredArgument>,
    strict: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<u32> {
    let oid = context.session.catalog.store().allocate_oid().0;
    let routine = StoredRoutine {
        oid,
        schema: ty.schema,
        name: ty.name.clone(),
        procedure: false,
        language: "internal".to_string(),
        arguments,
        result: StoredType {
            oid: ty.oid,
            row_of: None,
        },
        returns_set: false,
        volatility: 'i',
        strict,
        security_definer: false,
        leakproof: false,
        parallel: 's',
        cost: 1.0,
        rows: 0.0,
        settings: Vec::new(),
        body: body.to_string(),
        standard_body: false,
        owner: ty.owner,
        acl: new_privileges::of_new(AclKind::Function, ty.owner, Oid(ty.schema), context),
        comment: None,
        revision: Revision::default(),
    };
    function::put_new(routine, context)?;
    Ok(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multirange_is_named_after_its_range() {
        assert_eq!(derived_name("textrange"), "textmultirange");
        assert_eq!(derived_name("a_range_b_range"), "a_multirange_b_range");
        assert_eq!(derived_name("plain"), "plain_multirange");
        let long = "é".repeat(31);
        assert_eq!(derived_name(&long), format!("{}_multirange", "é".repeat(26)));
    }
}
