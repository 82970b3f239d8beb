//! Calls of users' functions: which one is meant, and its arguments in the order that it wants.
//!
//! Overloads compete with the built-in functions of the name by PostgreSQL's rules (`resolve`). Where two functions take
//! the same arguments, the one whose schema comes first in the search path wins; built-ins stand first of all.
//! Leaves out: built-in functions that win (`call`), the body (`mote_commands::routine`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::user::{is_composite, is_row};
use mote_types::{ColumnType, oid};

use super::call::{display_name, gather_variadic, type_list};
use super::coerce::implicitly_coercible;
use super::compare::Placed;
use super::modifier::spelled_out;
use super::polymorphic::{polymorphic_fits, resolve_polymorphic};
use super::resolve::{Choice, select_candidate};
use super::scope::Clause;
use super::{Binder, relation_expression, undetermined_parameter};
use crate::access::Dependency;
use crate::builtin::function::{Callable, callables_named};
use crate::catalog::CatalogView;
use crate::expr::{Expr, RoutineExpr};
use crate::routine::{Routine, RoutineArgument, RoutineKind, RoutineMode};
use mote_grammar::ast;
use mote_grammar::ast::{Location, Name};

/// One way in which a call can be understood.
struct Prototype<'r> {
    /// None: a built-in function.
    routine: Option<&'r Arc<Routine>>,
    /// Declared types, one per argument of the call.
    types: Vec<Oid>,
    /// The argument of the routine that each argument of the call is for, counted among those that calls give (`given`).
    slots: Vec<usize>,
    /// The arguments from the last input on are gathered into an array.
    spread: bool,
}

/// A routine that was chosen, with its arguments converted.
pub(super) struct ChosenRoutine {
    pub routine: Arc<Routine>,
    pub arguments: Vec<Expr>,
    pub ty: ColumnType,
    pub columns: Option<Vec<(String, ColumnType)>>,
}

/// How a routine is called. CALL has a place for each OUT argument, too, whose value nobody looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallForm {
    Expression,
    Statement,
}

impl CallForm {
    /// The arguments that such a call gives to a routine.
    fn given(self, routine: &Routine) -> Vec<&RoutineArgument> {
        let takes = |argument: &&RoutineArgument| {
            let mode = argument.mode;
            mode.is_input() || (self == CallForm::Statement && mode == RoutineMode::Out)
        };
        routine.arguments.iter().filter(takes).collect()
    }
}

impl Binder<'_> {
    /// The users' functions that bear a call's name.
    pub(super) fn routines_called(&self, call: &ast::FunctionCall) -> Vec<Arc<Routine>> {
        self.catalog
            .routines_named(call.name.qualifier(), call.name.last())
    }

    /// The call, if it means one of `routines`. None: a built-in function fits better, or nothing fits.
    pub(super) fn routine_call(
        &mut self,
        call: &ast::FunctionCall,
        routines: &[Arc<Routine>],
        arguments: &[Placed],
    ) -> SqlResult<Option<Expr>> {
        if routines.is_empty() {
            return Ok(None);
        }
        let Some(chosen) = self.choose_routine(call, CallForm::Expression, routines, arguments)? else {
            return Ok(None);
        };
        if chosen.routine.kind == RoutineKind::Procedure {
            let types: Vec<Oid> = arguments.iter().map(|(expr, _)| self.type_of(expr).oid).collect();
            let message = format!("{}({}) is a procedure", display_name(call), type_list(&types));
            return Err(self
                .error(state::WRONG_OBJECT_TYPE, call.location, message)
                .hint("To call a procedure, use CALL."));
        }
        self.check_plain_call(call, &chosen.routine.name)?;
        if chosen.routine.is_trigger() {
            let message = "trigger functions can only be called as triggers";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        self.note_routine(&chosen.routine);
        let returns_set = chosen.routine.returns_set;
        let expr = Expr::Routine(Box::new(RoutineExpr {
            routine: chosen.routine,
            arguments: chosen.arguments,
            ty: chosen.ty,
            columns: chosen.columns,
            location: call.location.0,
        }));
        if returns_set {
            return self.set_returning(expr, call.location).map(Some);
        }
        Ok(Some(expr))
    }

    /// Notes that the statement depends on a routine and needs the right to execute it.
    pub(super) fn note_routine(&mut self, routine: &Arc<Routine>) {
        if self.routines.iter().any(|known| known.oid == routine.oid) {
            return;
        }
        self.dependencies.push(Dependency {
            object: routine.oid,
            version: routine.version,
        });
        // Rows that it takes or gives.
        let types = routine.arguments.iter().map(|argument| argument.ty.ty);
        types
            .chain([routine.result.ty])
            .for_each(|ty| self.depend_on_type(ty));
        self.routines.push(routine.clone());
    }

    /// Chooses among routines (and the built-in functions of the name) and converts the arguments.
    pub(super) fn choose_routine(
        &mut self,
        call: &ast::FunctionCall,
        form: CallForm,
        routines: &[Arc<Routine>],
        arguments: &[Placed],
    ) -> SqlResult<Option<ChosenRoutine>> {
        let inputs: Vec<Oid> = arguments.iter().map(|(expr, _)| self.type_of(expr).oid).collect();
        let names: Vec<Option<&Name>> = call.arguments.iter().map(|a| a.name.as_ref()).collect();
        let mut prototypes = self.builtin_prototypes(call, &inputs, &names);
        for routine in routines {
            for candidate in prototypes_of(routine, form, &names, call.variadic) {
                // The same types in an earlier schema hide this one; spreading a variadic comes second.
                if !prototypes.iter().any(|known| known.types == candidate.types) {
                    prototypes.push(candidate);
                }
            }
        }
        let chosen = match choose(&prototypes, &inputs, self.catalog) {
            Choice::One(position) => &prototypes[position],
            Choice::None => return Ok(None),
            Choice::Ambiguous => {
                let shown = display_name(call);
                let message = format!("function {shown}({}) is not unique", type_list(&inputs));
                return Err(self.error(state::AMBIGUOUS_FUNCTION, call.location, message).hint(
                    "Could not choose a best candidate function. You might need to add explicit type casts.",
                ));
            }
        };
        let Some(routine) = chosen.routine else {
            return Ok(None);
        };
        let given = form.given(routine);
        if !self.rows_fit(&given, chosen, arguments) {
            return Ok(None);
        }
        let (declared, ty) = match resolve_polymorphic(&chosen.types, &inputs, routine.result.ty.oid) {
            Ok(found) => found,
            Err(unresolved) => match unresolved.message() {
                Some(message) => return Err(SqlError::new(state::DATATYPE_MISMATCH, message)),
                None => return Ok(None),
            },
        };
        let mut outputs = Vec::new();
        for output in routine.outputs() {
            let resolved = resolve_polymorphic(&chosen.types, &inputs, output.ty.ty.oid);
            outputs.push((
                output.name.clone(),
                ColumnType::new(resolved.map_or(oid::TEXT, |(_, ty)| ty)),
            ));
        }
        let converted = self.place_arguments(&given, chosen, &declared, arguments.to_vec(), call.location)?;
        let ty = ColumnType::new(ty);
        let columns = self.result_columns(outputs, ty);
        Ok(Some(ChosenRoutine {
            routine: routine.clone(),
            arguments: converted,
            ty,
            columns,
        }))
    }

    /// Arguments in the order of the inputs, defaults where none was given.
    fn place_arguments(
        &mut self,
        given: &[&RoutineArgument],
        chosen: &Prototype<'_>,
        declared: &[Oid],
        arguments: Vec<Placed>,
        location: Location,
    ) -> SqlResult<Vec<Expr>> {
        let mut placed: Vec<Option<Expr>> = vec![None; given.len()];
        let mut gathered = Vec::new();
        for (((expr, place), ty), slot) in arguments.into_iter().zip(declared).zip(&chosen.slots) {
            // The routine will not know a length.
            let converted = spelled_out(self.coerce_argument(expr, *ty, place)?, place);
            if chosen.spread && *slot + 1 == given.len() {
                gathered.push(converted);
            } else {
                placed[*slot] = Some(converted);
            }
        }
        if chosen.spread {
            let element = declared.last().copied().unwrap_or(oid::TEXT);
            let array = gather_variadic(gathered, 0, element, &[element]);
            *placed.last_mut().expect("a variadic routine has an input") = array.into_iter().next();
        }
        let mut all = Vec::with_capacity(placed.len());
        for (argument, expr) in given.iter().zip(placed) {
            // It was converted nevertheless: a parameter in its place has its type.
            if !argument.mode.is_input() {
                continue;
            }
            all.push(match (expr, &argument.default) {
                (Some(expr), _) => expr,
                (None, Some(text)) => self.argument_default(text, argument.ty.ty, location)?,
                (None, None) => return Err(SqlError::internal("a chosen routine lacks an argument")),
            });
        }
        Ok(all)
    }

    /// The default of an argument, bound anew: it names no columns.
    pub(super) fn argument_default(
        &mut self,
        text: &str,
        ty: ColumnType,
        location: Location,
    ) -> SqlResult<Expr> {
        let parsed = relation_expression::parse_expression(text)?;
        let outer_text = std::mem::take(&mut self.text);
        let outer_names = self.names.take();
        let trace = self.trace.take();
        let levels = std::mem::take(&mut self.levels);
        self.levels.push(super::scope::Level::new(Clause::ColumnDefault));
        let bound = self.expression(&parsed);
        self.trace = trace;
        let polymorphic = polymorphic_fits(&[ty.oid], &[oid::INT4]) && ty.oid != oid::INT4;
        let bound = bound.and_then(|bound| match polymorphic {
            true => self.settle_unknown(bound, location),
            false => self.coerce_assignment(bound, "", ty, location),
        });
        self.levels = levels;
        self.names = outer_names;
        self.text = outer_text;
        bound
    }

    /// The columns of one result row, where the definition tells them.
    fn result_columns(
        &self,
        outputs: Vec<(String, ColumnType)>,
        ty: ColumnType,
    ) -> Option<Vec<(String, ColumnType)>> {
        if !is_row(ty.oid) {
            return None;
        }
        if is_composite(ty.oid) {
            return row_columns(ty.oid, self.catalog);
        }
        if outputs.is_empty() {
            return None;
        }
        let named = |(position, (name, ty)): (usize, (String, ColumnType))| match name.is_empty() {
            true => (format!("column{}", position + 1), ty),
            false => (name, ty),
        };
        Some(outputs.into_iter().enumerate().map(named).collect())
    }

    /// Arguments that are rows of a table must be of that table's row type.
    fn rows_fit(&self, given: &[&RoutineArgument], chosen: &Prototype<'_>, arguments: &[Placed]) -> bool {
        arguments.iter().zip(&chosen.slots).all(|((expr, _), slot)| {
            let ty = given[*slot].ty.ty.oid;
            if !is_composite(ty) || expr.ty().oid == ty {
                return true;
            }
            match (self.record_columns(expr), row_columns(ty, self.catalog)) {
                (Some(have), Some(want)) => {
                    have.len() == want.len()
                        && have
                            .iter()
                            .zip(&want)
                            .all(|(have, want)| have.1.oid == want.1.oid)
                }
                _ => true,
            }
        })
    }
}

/// The attributes of a composite type.
pub fn row_columns(ty: Oid, catalog: &dyn CatalogView) -> Option<Vec<(String, ColumnType)>> {
    let row = catalog.row_type(ty)?;
    let named = row.names.iter().zip(&row.types);
    Some(named.map(|(name, ty)| (name.to_string(), *ty)).collect())
}

/// The best of the prototypes: an exact match, else PostgreSQL's choice.
fn choose(prototypes: &[Prototype<'_>], inputs: &[Oid], catalog: &dyn CatalogView) -> Choice<usize> {
    let exact = prototypes.iter().position(|prototype| prototype.types == inputs);
    if let Some(position) = exact {
        return Choice::One(position);
    }
    let fits = |position: &usize| {
        let declared = &prototypes[*position].types;
        inputs
            .iter()
            .zip(declared)
            .all(|(have, want)| implicitly_coercible(*have, *want, catalog))
            && polymorphic_fits(declared, inputs)
    };
    let candidates: Vec<usize> = (0..prototypes.len()).filter(fits).collect();
    let declared = |candidate: usize, position: usize| prototypes[candidate].types[position];
    select_candidate(candidates, inputs, &declared, catalog)
}

impl Binder<'_> {
    /// The built-in functions of the name that take so many arguments.
    fn builtin_prototypes(
        &self,
        call: &ast::FunctionCall,
        inputs: &[Oid],
        names: &[Option<&Name>],
    ) -> Vec<Prototype<'static>> {
        let mut prototypes = Vec::new();
        if names.iter().any(Option::is_some) {
            return prototypes;
        }
        let schema = call.name.qualifier();
        let own = matches!(schema, None | Some("pg_catalog"));
        for callable in callables_named(call.name.last()) {
            if !(own || callable.extension_type().is_some()) || !self.is_callable(*callable, schema, inputs) {
                continue;
            }
            let (declared, variadic, defaults) = match callable {
                Callable::Function(id) => {
                    let signature = id.signature();
                    (
                        signature.arguments,
                        signature.variadic,
                        signature.defaults as usize,
                    )
                }
                Callable::Aggregate(id) => (id.signature().arguments, None, 0),
                Callable::Window(id) => (id.signature().arguments, None, 0),
            };
            let types = match variadic {
                Some(element) if !call.variadic => {
                    if inputs.len() < declared.len() {
                        continue;
                    }
                    let fixed = declared.len() - 1;
                    let mut types = declared[..fixed].to_vec();
                    types.resize(inputs.len(), element);
                    types
                }
                _ if inputs.len() <= declared.len() && inputs.len() + defaults >= declared.len() => {
                    declared[..inputs.len()].to_vec()
                }
                _ => continue,
            };
            prototypes.push(Prototype {
                routine: None,
                types,
                slots: Vec::new(),
                spread: false,
            });
        }
        prototypes
    }
}

/// How a routine can take a call with these (possibly named) arguments.
fn prototypes_of<'r>(
    routine: &'r Arc<Routine>,
    form: CallForm,
    names: &[Option<&Name>],
    variadic: bool,
) -> Vec<Prototype<'r>> {
    let inputs = form.given(routine);
    let mut found = Vec::new();
    let mut slots = Vec::with_capacity(names.len());
    let mut taken = vec![false; inputs.len()];
    for (position, name) in names.iter().enumerate() {
        let slot = match name {
            None => Some(position),
            Some(name) => inputs.iter().position(|input| input.name == ***name),
        };
        match slot {
            Some(slot) if slot < inputs.len() && !taken[slot] => {
                taken[slot] = true;
                slots.push(slot);
            }
            _ => {
                slots.clear();
                break;
            }
        }
    }
    let has_variadic = inputs
        .last()
        .is_some_and(|last| last.mode == RoutineMode::Variadic);
    let any_named = names.iter().any(Option::is_some);
    // Named arguments meet a variadic function only where the call says VARIADIC, of the parameter that is.
    let reachable = match variadic {
        true => has_variadic && slots.last() == Some(&(inputs.len() - 1)),
        false => !(any_named && has_variadic),
    };
    let complete = slots.len() == names.len()
        && inputs
            .iter()
            .zip(&taken)
            .all(|(input, taken)| *taken || input.default.is_some());
    if complete && reachable {
        found.push(Prototype {
            routine: Some(routine),
            types: slots.iter().map(|slot| inputs[*slot].ty.ty.oid).collect(),
            slots: slots.clone(),
            spread: false,
        });
    }
    // `f(1, 2, 3)` for a variadic f: not with named arguments, and not where the call says VARIADIC itself.
    if has_variadic && !variadic && !any_named && names.len() >= inputs.len() {
        let last = inputs.len() - 1;
        let element = match inputs[last].ty.ty.oid {
            oid::ANYARRAY => oid::ANYELEMENT,
            oid::ANYCOMPATIBLEARRAY => oid::ANYCOMPATIBLE,
            array => ColumnType::new(array)
                .element()
                .map_or(oid::TEXT, |element| element.oid),
        };
        let mut types: Vec<Oid> = inputs[..last].iter().map(|input| input.ty.ty.oid).collect();
        types.resize(names.len(), element);
        let slots = (0..names.len()).map(|position| position.min(last)).collect();
        // Only the spread form takes elements; the plain one stays for `f(VARIADIC array)`.
        found.clear();
        found.push(Prototype {
            routine: Some(routine),
            types,
            slots,
            spread: true,
        });
    } else if has_variadic && !variadic && !any_named {
        // Too few for one element: a default may stand for the array.
        found.retain(|prototype| prototype.slots.len() < inputs.len());
    }
    found
}

/// A CALL, bound.
pub struct BoundCall {
    pub routine: Arc<Routine>,
    pub arguments: Vec<Expr>,
    pub ty: ColumnType,
    /// The columns of OUT and INOUT arguments; None where there are none.
    pub columns: Option<Vec<(String, ColumnType)>>,
    /// Types of $1.., as declared or inferred.
    pub parameters: Vec<ColumnType>,
    pub dependencies: Vec<Dependency>,
}

/// The parameters that a CALL may name.
#[derive(Clone, Copy)]
pub enum CallParameters<'a> {
    /// $1.. as the client declares them: types of zero, and those it does not mention, are inferred.
    Declared(&'a [Oid]),
    /// $1.. whose types are known: there are no others.
    Known(&'a [Oid]),
    /// The names around the statement.
    Named(&'a dyn super::ParameterNames),
}

/// Binds CALL. Every OUT argument has a place in the call, whose value is not looked at.
pub fn bind_call(
    call: &ast::FunctionCall,
    text: &str,
    catalog: &dyn crate::catalog::CatalogView,
    parameters: CallParameters<'_>,
) -> SqlResult<BoundCall> {
    let mut binder = match parameters {
        CallParameters::Declared(types) | CallParameters::Known(types) => Binder::new(catalog, text, types),
        CallParameters::Named(names) => Binder::new(catalog, text, &[]).with_names(names),
    };
    binder.parameters_open = matches!(parameters, CallParameters::Declared(_));
    // JDBC declares OUT arguments as void, as it does for functions, whose calls leave them out: here they have a place.
    for ty in &mut binder.parameters {
        if ty.oid == oid::VOID {
            *ty = ColumnType::UNKNOWN;
        }
    }
    binder.levels.push(super::scope::Level::new(Clause::Call));
    binder.call_statement(call)
}

impl Binder<'_> {
    fn call_statement(mut self, call: &ast::FunctionCall) -> SqlResult<BoundCall> {
        let routines = self.routines_called(call);
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push((self.expression(&argument.value)?, argument.value.location));
        }
        let inputs: Vec<Oid> = arguments.iter().map(|(expr, _)| self.type_of(expr).oid).collect();
        let shown = format!("{}({})", display_name(call), type_list(&inputs));
        let chosen = match self.choose_routine(call, CallForm::Statement, &routines, &arguments)? {
            Some(chosen) if chosen.routine.kind == RoutineKind::Procedure => chosen,
            None if !self.means_builtin(call, &inputs) => {
                let message = format!("procedure {shown} does not exist");
                return Err(self.error(state::UNDEFINED_FUNCTION, call.location, message).hint(
                    "No procedure matches the given name and argument types. You might need to add explicit type \
                     casts.",
                ));
            }
            _ => {
                let message = format!("{shown} is not a procedure");
                return Err(self
                    .error(state::WRONG_OBJECT_TYPE, call.location, message)
                    .hint("To call a function, use SELECT."));
            }
        };
        if let Some(index) = self.parameters.iter().position(|ty| ty.oid == oid::UNKNOWN) {
            return Err(undetermined_parameter(index));
        }
        self.note_routine(&chosen.routine);
        Ok(BoundCall {
            routine: chosen.routine,
            arguments: chosen.arguments,
            ty: chosen.ty,
            columns: chosen.columns,
            parameters: self.parameters,
            dependencies: self.dependencies,
        })
    }
}
