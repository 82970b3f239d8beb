//! Function calls: the choice of the function, set-returning functions, calls that need the session.
//!
//! Aggregates (`aggregate`), window functions and set-returning functions are not computed where they stand: the call goes to the
//! query level, and a variable of the level's computed item takes its place.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::cast::find_cast;
use mote_types::catalog::extension::is_extension_type;
use mote_types::catalog::user::{is_composite, is_row};
use mote_types::catalog::{category, category_of, polymorphism};
use mote_types::{ColumnType, Datum, oid, type_by_name};

use super::compare::Placed;
use super::modifier::spelled_out;
use super::polymorphic::{polymorphic_fits, resolve_polymorphic};
use super::resolve::{Choice, select_candidate};
use super::scope::Clause;
use super::user_cast::any_cast_context;
use super::{Binder, type_label};
use crate::builtin::function::{
    AggregateId, Callable, FunctionId, FunctionSignature, callables_named, makes_rows_of_json,
};
use crate::expr::{Expr, SequenceCall, SessionValue};
use mote_grammar::ast;
use mote_grammar::ast::Location;

/// A callable with its parameter types spread to the number of arguments.
#[derive(Clone, Copy)]
struct Candidate {
    callable: Callable,
    declared: &'static [Oid],
    /// From this position on, arguments are elements of the variadic parameter.
    variadic: Option<(usize, Oid)>,
}

impl Candidate {
    fn declared(&self, position: usize) -> Oid {
        match self.variadic {
            Some((from, element)) if position >= from => element,
            _ => self.declared[position],
        }
    }

    fn takes_any_arguments(&self) -> bool {
        matches!(self.callable, Callable::Function(id) if id.signature().variadic == Some(oid::ANY))
    }
}

/// What a call resolved to, arguments converted.
pub(super) struct Resolved {
    pub callable: Callable,
    pub arguments: Vec<Expr>,
    /// The last argument is an array that stands for its elements.
    pub variadic: bool,
    pub result: ColumnType,
}

/// `$1::void`.
fn is_cast_to_void(value: &ast::Expr) -> bool {
    let ast::ExprKind::Cast { operand, target } = &value.kind else {
        return false;
    };
    matches!(operand.kind, ast::ExprKind::Parameter(_)) && target.name.last() == "void"
}

const USE_LATERAL: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

impl Binder<'_> {
    pub(super) fn function_call(&mut self, call: &ast::FunctionCall) -> SqlResult<Expr> {
        match self.without_void_parameters(call)? {
            None => self.call_as_written(call),
            Some(reduced) => self.call_as_written(&reduced),
        }
    }

    /// The call without the arguments that are parameters of type void: JDBC writes `{?= call f(?)}` with a parameter for
    /// the result. None: there are no such arguments.
    fn without_void_parameters(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<ast::FunctionCall>> {
        let declared = self.parameters.iter().any(|ty| ty.oid == oid::VOID);
        if !declared
            && !call
                .arguments
                .iter()
                .any(|argument| is_cast_to_void(&argument.value))
        {
            return Ok(None);
        }
        let mut kept = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            if argument.name.is_some() || !self.is_void_parameter(&argument.value)? {
                kept.push(argument.clone());
            }
        }
        let fewer = kept.len() < call.arguments.len();
        Ok(fewer.then(|| ast::FunctionCall {
            arguments: kept,
            ..call.clone()
        }))
    }

    /// A parameter that was declared void, or is by a cast.
    fn is_void_parameter(&mut self, value: &ast::Expr) -> SqlResult<bool> {
        if is_cast_to_void(value) {
            let bound = self.expression(value)?;
            return Ok(matches!(bound, Expr::Parameter { .. }) && bound.ty().oid == oid::VOID);
        }
        let ast::ExprKind::Parameter(number) = &value.kind else {
            return Ok(false);
        };
        let index = (*number as usize).wrapping_sub(1);
        Ok(self.parameters.get(index).is_some_and(|ty| ty.oid == oid::VOID))
    }

    fn call_as_written(&mut self, call: &ast::FunctionCall) -> SqlResult<Expr> {
        let routines = self.routines_called(call);
        let name = match self.function_name(call) {
            Err(_) if !routines.is_empty() => call.name.last(),
            Err(error) if error.state() == state::UNDEFINED_FUNCTION && !call.star => {
                // Told by the types of the arguments, whose own errors come first.
                let arguments = self.call_arguments(call, false, false)?;
                let types: Vec<Oid> = arguments.iter().map(|(expr, _)| self.type_of(expr).oid).collect();
                return Err(self.no_function(&display_name(call), &types, call.location));
            }
            name => name?,
        };
        if call.within_group {
            return self.ordered_set_aggregate(name, call);
        }
        if call.star {
            let Some(aggregate) = (name == "count").then(count_star).flatten() else {
                return Err(self.no_function(&display_name(call), &[], call.location));
            };
            if call.over.is_some() {
                return self.window_aggregate(call, aggregate, Vec::new(), ColumnType::INT8);
            }
            return self.aggregate(call, aggregate, Vec::new(), ColumnType::INT8);
        }
        let is_aggregate = callables_named(name)
            .iter()
            .any(|callable| matches!(callable, Callable::Aggregate(_)));
        let is_window = callables_named(name)
            .iter()
            .any(|callable| matches!(callable, Callable::Window(_)));
        let plain_aggregate = is_aggregate && call.over.is_none();
        let arguments = self.call_arguments(call, plain_aggregate, is_window || call.over.is_some())?;
        if let Some(found) = self.routine_call(call, &routines, &arguments)? {
            return Ok(found);
        }
        if let Some(field) = self.field_as_function(name, call, &arguments) {
            return Ok(field);
        }
        let arguments = match call.arguments.iter().any(|argument| argument.name.is_some()) {
            true => self.named_arguments(name, call, arguments)?,
            false => arguments,
        };
        if !is_aggregate
            && !is_window
            && arguments.len() == 1
            && let Some(cast) = self.function_style_cast(name, &arguments[0], call.location)?
        {
            return Ok(cast);
        }
        let (schema, shown) = (call.name.qualifier(), display_name(call));
        let resolved = self.resolve_call(name, schema, &shown, arguments, call.variadic, call.location)?;
        match resolved.callable {
            Callable::Aggregate(id) if id.signature().direct.is_some() => {
                let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
                Err(self.error(state::WRONG_OBJECT_TYPE, call.location, message))
            }
            Callable::Aggregate(id) if call.over.is_some() => {
                self.window_aggregate(call, id, resolved.arguments, resolved.result)
            }
            Callable::Aggregate(id) => self.aggregate(call, id, resolved.arguments, resolved.result),
            Callable::Window(id) => self.window_function(call, id, resolved.arguments, resolved.result),
            Callable::Function(id) => {
                self.check_plain_call(call, name)?;
                match self.written_collation(name, call) {
                    Some(collation) => Ok(Expr::Constant(Datum::text(collation), ColumnType::TEXT)),
                    None => self.plain_call(id, resolved, call.location),
                }
            }
        }
    }

    /// The bare name, if its schema is one that holds built-in functions.
    fn function_name<'c>(&self, call: &'c ast::FunctionCall) -> SqlResult<&'c str> {
        match call.name.qualifier() {
            None | Some("pg_catalog" | "information_schema" | "public") => Ok(call.name.last()),
            Some(schema) if !self.catalog.schema_exists(schema) => {
                let message = format!("schema \"{schema}\" does not exist");
                Err(self.error(state::INVALID_SCHEMA_NAME, call.location, message))
            }
            Some(schema) => {
                let mut callables = callables_named(call.name.last()).iter();
                let extended = |callable: &Callable| self.is_callable(*callable, Some(schema), &[]);
                match callables.any(extended) {
                    true => Ok(call.name.last()),
                    false => Err(self.no_function(&display_name(call), &[], call.location)),
                }
            }
        }
    }

    pub(super) fn call_arguments(
        &mut self,
        call: &ast::FunctionCall,
        aggregate: bool,
        window: bool,
    ) -> SqlResult<Vec<Placed>> {
        let before = (self.level_flags().0, self.level_flags().1);
        if let Some(level) = self.levels.last_mut() {
            if window && call.over.is_some() && level.in_window {
                let message = "window function calls cannot be nested";
                return Err(self.error(state::WINDOWING_ERROR, call.location, message));
            }
            level.in_aggregate |= aggregate;
            level.in_window |= window && call.over.is_some();
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push((self.expression(&argument.value)?, argument.value.location));
        }
        if let Some(level) = self.levels.last_mut() {
            (level.in_aggregate, level.in_window) = before;
        }
        Ok(arguments)
    }

    pub(super) fn level_flags(&self) -> (bool, bool) {
        self.levels
            .last()
            .map_or((false, false), |level| (level.in_aggregate, level.in_window))
    }

    /// `f(name => value)` of a built-in function: the arguments in their order, defaults in the gaps between them.
    fn named_arguments(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        bound: Vec<Placed>,
    ) -> SqlResult<Vec<Placed>> {
        let written: Vec<Option<&str>> = call
            .arguments
            .iter()
            .map(|argument| argument.name.as_deref())
            .collect();
        // Made now: the arguments are moved to their places below.
        let types: Vec<Oid> = bound.iter().map(|(expr, _)| self.type_of(expr).oid).collect();
        let missing = self.no_such_call(&display_name(call), &types, &written, call.location);
        // Those of a variadic function have names only where the call says VARIADIC.
        let fits = |signature: &&FunctionSignature| {
            let known = |name: &Option<&str>| name.is_none_or(|name| signature.names.contains(&name));
            let spread = signature.variadic.is_some() && !call.variadic;
            !spread && written.len() <= signature.names.len() && written.iter().all(known)
        };
        let mut functions = callables_named(name)
            .iter()
            .filter_map(|callable| match callable {
                Callable::Function(id) => Some(id.signature()),
                _ => None,
            });
        let Some(signature) = functions.find(fits) else {
            return Err(missing);
        };
        let mut placed: Vec<Option<Placed>> = vec![None; signature.names.len()];
        for (position, (name, value)) in written.iter().zip(bound).enumerate() {
            let slot = match name {
                None => position,
                Some(name) => {
                    let slot = signature.names.iter().position(|known| known == name);
                    slot.ok_or_else(|| SqlError::internal("a name that was looked up is lost"))?
                }
            };
            if placed[slot].is_some() {
                return Err(missing);
            }
            placed[slot] = Some(value);
        }
        let last = placed
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        let required = signature.names.len() - signature.default_texts.len();
        let mut spread = Vec::with_capacity(last);
        for (position, value) in placed.into_iter().enumerate().take(last.max(required)) {
            spread.push(match value {
                Some(value) => value,
                None if position < required => {
                    return Err(missing);
                }
                None => {
                    let ty = ColumnType::new(signature.arguments[position]);
                    let text = signature.default_texts[position - required];
                    (self.argument_default(text, ty, call.location)?, call.location)
                }
            });
        }
        Ok(spread)
    }

    /// `name(row)`: a field, where no function takes a row. The cast to a type of that name is none: a row becomes no
    /// text in the notation of functions.
    fn field_as_function(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        arguments: &[Placed],
    ) -> Option<Expr> {
        let [(record, _)] = arguments else { return None };
        let plain = call.arguments.iter().all(|argument| argument.name.is_none()) && call.over.is_none();
        if !is_row(record.ty().oid) || !plain || call.name.parts.len() > 1 {
            return None;
        }
        let columns = self.record_columns(record)?;
        columns.iter().find(|(column, _)| **column == *name)?;
        let takes_rows = |callable: &Callable| match callable {
            Callable::Function(id) => id.signature().arguments.first().is_some_and(|ty| {
                matches!(
                    *ty,
                    oid::RECORD | oid::ANY | oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYCOMPATIBLE
                )
            }),
            _ => true,
        };
        if callables_named(name).iter().any(takes_rows) {
            return None;
        }
        self.field(record.clone(), name, call.location).ok()
    }

    /// `int4(x)`, `text(true)`, `date('..')`: a type's name used as a function. As in PostgreSQL a function of that name for
    /// the argument's very type comes first, the cast comes before functions that would need another.
    fn function_style_cast(
        &mut self,
        name: &str,
        argument: &Placed,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        let source = self.type_of(&argument.0).oid;
        let takes_it = |callable: &Callable| match callable {
            Callable::Function(id) => id.signature().arguments == [source],
            _ => false,
        };
        // A literal is a value of the type, whatever functions there are.
        let is_literal = source == oid::UNKNOWN;
        let mut callables = callables_named(name).iter();
        if !is_literal
            && callables.any(|callable| takes_it(callable) && self.is_callable(*callable, None, &[source]))
        {
            return Ok(None);
        }
        let known = match name {
            "char" => Some(oid::CHAR),
            _ => type_by_name(name),
        };
        let made = || {
            let found = self.catalog.user_type_named(None, name)?;
            let domain = found.domain.as_ref().map(|domain| (domain.base, Some(found.oid)));
            let plain = (ColumnType::new(found.oid), None);
            (!is_composite(found.oid)).then(|| domain.unwrap_or(plain))
        };
        let known = known.map(|ty| (ColumnType::new(ty), None));
        let Some((target, domain)) = known.or_else(made) else {
            return Ok(None);
        };
        // `name(row)` asks for a field or a function: a row becomes no text in the notation of functions.
        if is_row(source) && (source == oid::RECORD || category_of(target.oid) == category::STRING) {
            return Ok(None);
        }
        // A conversion by a function has that function's name, which is never a domain's.
        let other_name = domain.is_some() && source != target.oid && find_cast(source, target.oid).is_some();
        let made = self.catalog.cast(source, target.oid);
        let other_name = other_name || made.is_some_and(|cast| cast.function.is_some());
        if !is_literal && (other_name || any_cast_context(source, target.oid, self.catalog).is_none()) {
            return Ok(None);
        }
        let place = if is_literal { argument.1 } else { location };
        let expr = self.coerce_explicit(argument.0.clone(), target, place)?;
        match domain {
            Some(domain) => self.into_domain(expr, domain).map(Some),
            None => Ok(Some(expr)),
        }
    }

    /// Chooses the callable and converts the arguments.
    pub(super) fn resolve_call(
        &mut self,
        name: &str,
        schema: Option<&str>,
        shown: &str,
        arguments: Vec<Placed>,
        variadic: bool,
        location: Location,
    ) -> SqlResult<Resolved> {
        let inputs: Vec<Oid> = arguments.iter().map(|(expr, _)| self.type_of(expr).oid).collect();
        let candidate = match self.choose(name, schema, &inputs, variadic) {
            Choice::One(candidate) => candidate,
            Choice::None => return Err(self.no_function(shown, &inputs, location)),
            Choice::Ambiguous => {
                let message = format!("function {shown}({}) is not unique", type_list(&inputs));
                return Err(self.error(state::AMBIGUOUS_FUNCTION, location, message).hint(
                    "Could not choose a best candidate function. You might need to add explicit type casts.",
                ));
            }
        };
        let declared: Vec<Oid> = (0..inputs.len())
            .map(|position| candidate.declared(position))
            .collect();
        let result = match candidate.callable {
            Callable::Function(id) => id.signature().result,
            Callable::Aggregate(id) => id.signature().result,
            Callable::Window(id) => id.signature().result,
        };
        let any_type: Vec<bool> = declared.iter().map(|ty| polymorphism(*ty).is_some()).collect();
        let (declared, result) = match resolve_polymorphic(&declared, &inputs, result) {
            Ok(found) => found,
            Err(unresolved) => {
                return Err(match unresolved.message() {
                    Some(message) => SqlError::new(state::DATATYPE_MISMATCH, message),
                    None => self.no_function(shown, &inputs, location),
                });
            }
        };
        let spread = variadic && candidate.takes_any_arguments();
        if let (true, Some((last, place))) = (spread, arguments.last())
            && ColumnType::new(self.type_of(last).oid).element().is_none()
        {
            let message = "VARIADIC argument must be an array";
            return Err(self.error(state::DATATYPE_MISMATCH, *place, message));
        }
        let mut converted = Vec::with_capacity(arguments.len());
        for (((expr, place), ty), any_type) in arguments.into_iter().zip(&declared).zip(any_type) {
            converted.push(match &expr {
                // What comes back will not know a length.
                _ if any_type => spelled_out(self.coerce_argument(expr, *ty, place)?, place),
                // The functions whose answers tell a literal without a type from a text.
                Expr::Constant(_, ty)
                    if matches!(name, "pg_typeof" | "pg_collation_for") && ty.oid == oid::UNKNOWN =>
                {
                    expr
                }
                _ => self.coerce_argument(expr, *ty, place)?,
            });
        }
        if let Some((from, element)) = candidate.variadic {
            converted = gather_variadic(converted, from, element, &declared);
        }
        Ok(Resolved {
            callable: candidate.callable,
            arguments: converted,
            variadic: spread,
            result: ColumnType::new(result),
        })
    }

    /// Is a built-in function of the name what a call with arguments of these types means?
    pub(super) fn means_builtin(&self, call: &ast::FunctionCall, inputs: &[Oid]) -> bool {
        let schema = call.name.qualifier();
        let found = |name: &str| matches!(self.choose(name, schema, inputs, call.variadic), Choice::One(_));
        self.function_name(call).is_ok_and(found)
    }

    /// Can a call name it? What an extension brings stands in the extension's schema, all else in pg_catalog. With a value of
    /// an extension's type a call finds it wherever that is, as operators are found: what is kept as text means the same
    /// under any search path.
    pub(super) fn is_callable(&self, callable: Callable, schema: Option<&str>, inputs: &[Oid]) -> bool {
        match callable.extension_type() {
            Some(_) if schema.is_none() && inputs.iter().any(|input| is_extension_type(*input)) => true,
            Some(ty) => self.catalog.has_extension_type(ty, schema),
            None => matches!(
                schema,
                None | Some("pg_catalog" | "information_schema" | "public")
            ),
        }
    }

    fn choose(&self, name: &str, schema: Option<&str>, inputs: &[Oid], variadic: bool) -> Choice<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        let callables = callables_named(name).iter();
        for callable in callables.filter(|callable| self.is_callable(**callable, schema, inputs)) {
            let (declared, spread, defaults) = match callable {
                Callable::Function(id) => {
                    let FunctionSignature {
                        arguments,
                        variadic,
                        defaults,
                        ..
                    } = id.signature();
                    (*arguments, *variadic, *defaults as usize)
                }
                Callable::Aggregate(id) => (id.signature().arguments, None, 0),
                Callable::Window(id) => (id.signature().arguments, None, 0),
            };
            let candidate = match spread {
                Some(element) if !variadic => {
                    let fixed = declared.len() - 1;
                    if inputs.len() < declared.len() {
                        continue;
                    }
                    Candidate {
                        callable: *callable,
                        declared,
                        variadic: Some((fixed, element)),
                    }
                }
                _ => {
                    let fits = inputs.len() <= declared.len() && inputs.len() + defaults >= declared.len();
                    if !fits {
                        continue;
                    }
                    Candidate {
                        callable: *callable,
                        declared,
                        variadic: None,
                    }
                }
            };
            if (0..inputs.len()).all(|position| candidate.declared(position) == inputs[position]) {
                return Choice::One(candidate);
            }
            candidates.push(candidate);
        }
        candidates.retain(|candidate| {
            let declared: Vec<Oid> = (0..inputs.len())
                .map(|position| candidate.declared(position))
                .collect();
            let fits = |(input, want): (&Oid, &Oid)| {
                super::coerce::implicitly_coercible(*input, *want, self.catalog)
            };
            inputs.iter().zip(&declared).all(fits) && polymorphic_fits(&declared, inputs)
        });
        let declared = |candidate: Candidate, position: usize| candidate.declared(position);
        select_candidate(candidates, inputs, &declared, self.catalog)
    }

    pub(super) fn no_function(&self, shown: &str, inputs: &[Oid], location: Location) -> SqlError {
        self.no_such_call(shown, inputs, &[], location)
    }

    /// `names`: those with which arguments were given, as far as there are any.
    fn no_such_call(
        &self,
        shown: &str,
        inputs: &[Oid],
        names: &[Option<&str>],
        location: Location,
    ) -> SqlError {
        let argument = |(position, ty): (usize, &Oid)| match names.get(position).copied().flatten() {
            Some(name) => format!("{name} => {}", type_label(*ty)),
            None => type_label(*ty),
        };
        let arguments: Vec<String> = inputs.iter().enumerate().map(argument).collect();
        let message = format!("function {shown}({}) does not exist", arguments.join(", "));
        self.error(state::UNDEFINED_FUNCTION, location, message).hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        )
    }

    pub(super) fn check_plain_call(&self, call: &ast::FunctionCall, name: &str) -> SqlResult<()> {
        if call.over.is_some() {
            let message =
                format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(self.error(state::WRONG_OBJECT_TYPE, call.location, message));
        }
        let misused = match () {
            () if call.distinct => Some("DISTINCT"),
            () if !call.order_by.is_empty() => Some("ORDER BY"),
            () if call.filter.is_some() => Some("FILTER"),
            () => None,
        };
        if let Some(word) = misused {
            let message = format!("{word} specified, but {name} is not an aggregate function");
            return Err(self.error(state::WRONG_OBJECT_TYPE, call.location, message));
        }
        Ok(())
    }

    /// A call of a plain function by name with bound arguments: what SQL syntax turns into calls.
    pub(super) fn named_call(
        &mut self,
        name: &str,
        arguments: Vec<Placed>,
        location: Location,
    ) -> SqlResult<Expr> {
        let resolved = self.resolve_call(name, None, name, arguments, false, location)?;
        match resolved.callable {
            Callable::Function(id) => self.plain_call(id, resolved, location),
            _ => Err(SqlError::internal("SQL syntax maps to plain functions")),
        }
    }

    fn plain_call(
        &mut self,
        function: FunctionId,
        resolved: Resolved,
        location: Location,
    ) -> SqlResult<Expr> {
        let Resolved {
            arguments,
            variadic,
            result: ty,
            ..
        } = resolved;
        let signature = function.signature();
        if let Some(special) = session_call(signature.body, &arguments, ty) {
            return Ok(special);
        }
        if makes_rows_of_json(signature.body)
            && let Some(base) = arguments.first()
        {
            self.refuse_domains_within(base.ty().oid)?;
        }
        let call = Expr::Call {
            function,
            arguments,
            variadic,
            ty,
            location: location.0,
        };
        if signature.returns_set {
            self.set_returning(call, location)
        } else {
            Ok(call)
        }
    }

    /// A set-returning function: in FROM it is itself, in a target list it becomes a column of the level's set item.
    pub(super) fn set_returning(&mut self, call: Expr, location: Location) -> SqlResult<Expr> {
        let Some(level) = self.levels.last() else {
            let message = "set-returning functions are not allowed in this context";
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
        };
        let clause = level.clause;
        if level.in_aggregate || level.in_window {
            let kind = if level.in_aggregate { "aggregate" } else { "window" };
            let message = format!("{kind} function calls cannot contain set-returning function calls");
            return Err(self
                .error(state::FEATURE_NOT_SUPPORTED, location, message)
                .hint(USE_LATERAL));
        }
        if !clause.allows_sets() {
            let message = format!("set-returning functions are not allowed in {}", clause.name());
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
        }
        self.level().set_calls.push(location);
        if clause == Clause::FunctionInFrom {
            return Ok(call);
        }
        let item = match self.level().set_item {
            Some(item) => item,
            None => self.computed_item()?,
        };
        let nested =
            call.any(&mut |expr| matches!(expr, Expr::Variable { relation, .. } if *relation == item));
        if nested {
            return Err(SqlError::unsupported(
                "set-returning function as argument of another",
            ));
        }
        let ty = call.ty();
        self.trace_set(location, &call);
        let level = self.level();
        level.set_item = Some(item);
        let known = level.sets.iter().position(|known| known.same(&call));
        let column = known.unwrap_or_else(|| {
            level.sets.push(call);
            level.sets.len() - 1
        });
        Ok(Expr::Variable {
            relation: item,
            column: column as u16,
            ty,
            location: location.0,
        })
    }

    /// Runs `work`, which may meet no set-returning function: CASE and COALESCE evaluate what they need, and no more.
    pub(super) fn without_sets<T>(
        &mut self,
        construct: &str,
        work: impl FnOnce(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let met = |this: &Self| this.levels.last().map_or(0, |level| level.set_calls.len());
        let before = met(self);
        let result = work(self)?;
        if met(self) == before {
            return Ok(result);
        }
        let location = self.level().set_calls[before];
        let message = format!("set-returning functions are not allowed in {construct}");
        Err(self
            .error(state::FEATURE_NOT_SUPPORTED, location, message)
            .hint(USE_LATERAL))
    }
}

/// `count(*)`.
fn count_star() -> Option<AggregateId> {
    crate::builtin::function::aggregate_by_signature("count", &[])
}

/// Puts variadic arguments into an array; `"any"` takes them one by one.
pub(super) fn gather_variadic(
    mut arguments: Vec<Expr>,
    from: usize,
    element: Oid,
    declared: &[Oid],
) -> Vec<Expr> {
    if element == oid::ANY {
        return arguments;
    }
    let element = declared.get(from).copied().unwrap_or(element);
    let elements = arguments.split_off(from);
    if let Some(array) = ColumnType::new(element).array_of() {
        arguments.push(Expr::Array {
            elements,
            ty: array,
            multidimensional: false,
        });
    }
    arguments
}

/// Functions that read or change the session: expressions of their own.
fn session_call(body: &str, arguments: &[Expr], ty: ColumnType) -> Option<Expr> {
    let value = match body {
        "now" => SessionValue::TransactionTimestamp,
        "statement_timestamp" => SessionValue::StatementTimestamp,
        "clock_timestamp" => SessionValue::ClockTimestamp,
        "current_database" => SessionValue::CurrentCatalog,
        "current_schema" => SessionValue::CurrentSchema,
        "current_user" => SessionValue::CurrentUser,
        "session_user" => SessionValue::SessionUser,
        _ => {
            let call = match body {
                "nextval_oid" => SequenceCall::NextValue,
                "currval_oid" => SequenceCall::CurrentValue,
                "lastval" => SequenceCall::LastValue,
                "setval_oid" | "setval3_oid" => SequenceCall::SetValue,
                _ => return None,
            };
            return Some(Expr::Sequence {
                call,
                arguments: arguments.to_vec(),
                ty,
            });
        }
    };
    Some(Expr::SessionValue { value, ty })
}

pub(super) fn display_name(call: &ast::FunctionCall) -> String {
    call.name.parts.join(".")
}

pub(super) fn type_list(types: &[Oid]) -> String {
    types
        .iter()
        .map(|ty| type_label(*ty))
        .collect::<Vec<_>>()
        .join(", ")
}
