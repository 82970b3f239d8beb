//! information_schema, as PostgreSQL 15 has it.
//!
//! See `definition` for how to read a line. Relations without a row function have no rows: mote has no such objects.

use super::{Definition, empty, filled};
use crate::views::rows::{
    domains, routines, schema, schema_columns, schema_constraints, schema_privileges, triggers,
};

#[rustfmt::skip]
pub(super) const RELATIONS: &[Definition] = &[
    empty(13507, "_pg_foreign_data_wrappers",
        "oid:oid fdwowner:oid fdwoptions:_text foreign_data_wrapper_catalog foreign_data_wrapper_name \
         authorization_identifier foreign_data_wrapper_language:character_data"),
    empty(13519, "_pg_foreign_servers",
        "oid:oid srvoptions:_text foreign_server_catalog foreign_server_name foreign_data_wrapper_catalog \
         foreign_data_wrapper_name foreign_server_type:character_data foreign_server_version:character_data \
         authorization_identifier"),
    empty(13498, "_pg_foreign_table_columns", "nspname:name relname:name attname:name attfdwoptions:_text"),
    empty(13532, "_pg_foreign_tables",
        "foreign_table_catalog foreign_table_schema foreign_table_name ftoptions:_text foreign_server_catalog \
         foreign_server_name authorization_identifier"),
    empty(13545, "_pg_user_mappings",
        "oid:oid umoptions:_text umuser:oid authorization_identifier foreign_server_catalog \
         foreign_server_name srvowner"),
    filled(13241, "administrable_role_authorizations",
        "grantee role_name is_grantable:yes_or_no", schema::administrable_roles),
    filled(13236, "applicable_roles", "grantee role_name is_grantable:yes_or_no", schema::applicable_roles),
    empty(13245, "attributes",
        "udt_catalog udt_schema udt_name attribute_name ordinal_position:cardinal_number \
         attribute_default:character_data is_nullable:yes_or_no data_type:character_data \
         character_maximum_length:cardinal_number character_octet_length:cardinal_number \
         character_set_catalog character_set_schema character_set_name collation_catalog collation_schema \
         collation_name numeric_precision:cardinal_number numeric_precision_radix:cardinal_number \
         numeric_scale:cardinal_number datetime_precision:cardinal_number interval_type:character_data \
         interval_precision:cardinal_number attribute_udt_catalog attribute_udt_schema attribute_udt_name \
         scope_catalog scope_schema scope_name maximum_cardinality:cardinal_number dtd_identifier \
         is_derived_reference_attribute:yes_or_no"),
    filled(13250, "character_sets",
        "character_set_catalog character_set_schema character_set_name character_repertoire form_of_use \
         default_collate_catalog default_collate_schema default_collate_name", schema::character_sets),
    empty(13255, "check_constraint_routine_usage",
        "constraint_catalog constraint_schema constraint_name specific_catalog specific_schema specific_name"),
    filled(13260, "check_constraints",
        "constraint_catalog constraint_schema constraint_name check_clause:character_data", schema_constraints::check_constraints),
    filled(13270, "collation_character_set_applicability",
        "collation_catalog collation_schema collation_name character_set_catalog character_set_schema \
         character_set_name", schema::collation_applicability),
    filled(13265, "collations",
        "collation_catalog collation_schema collation_name pad_attribute:character_data", schema::collations),
    empty(13275, "column_column_usage", "table_catalog table_schema table_name column_name dependent_column"),
    empty(13280, "column_domain_usage",
        "domain_catalog domain_schema domain_name table_catalog table_schema table_name column_name"),
    empty(13503, "column_options",
        "table_catalog table_schema table_name column_name option_name option_value:character_data"),
    filled(13285, "column_privileges",
        "grantor grantee table_catalog table_schema table_name column_name privilege_type:character_data \
         is_grantable:yes_or_no", schema_privileges::column_privileges),
    empty(13290, "column_udt_usage",
        "udt_catalog udt_schema udt_name table_catalog table_schema table_name column_name"),
    filled(13295, "columns",
        "table_catalog table_schema table_name column_name ordinal_position:cardinal_number \
         column_default:character_data is_nullable:yes_or_no data_type:character_data \
         character_maximum_length:cardinal_number character_octet_length:cardinal_number \
         numeric_precision:cardinal_number numeric_precision_radix:cardinal_number \
         numeric_scale:cardinal_number datetime_precision:cardinal_number interval_type:character_data \
         interval_precision:cardinal_number character_set_catalog character_set_schema character_set_name \
         collation_catalog collation_schema collation_name domain_catalog domain_schema domain_name \
         udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name \
         maximum_cardinality:cardinal_number dtd_identifier is_self_referencing:yes_or_no \
         is_identity:yes_or_no identity_generation:character_data identity_start:character_data \
         identity_increment:character_data identity_maximum:character_data identity_minimum:character_data \
         identity_cycle:yes_or_no is_generated:character_data generation_expression:character_data \
         is_updatable:yes_or_no", schema_columns::columns),
    filled(13300, "constraint_column_usage",
        "table_catalog table_schema table_name column_name constraint_catalog constraint_schema \
         constraint_name", schema_constraints::constraint_column_usage),
    filled(13305, "constraint_table_usage",
        "table_catalog table_schema table_name constraint_catalog constraint_schema constraint_name", schema_constraints::constraint_table_usage),
    empty(13488, "data_type_privileges",
        "object_catalog object_schema object_name object_type:character_data dtd_identifier"),
    filled(13310, "domain_constraints",
        "constraint_catalog constraint_schema constraint_name domain_catalog domain_schema domain_name \
         is_deferrable:yes_or_no initially_deferred:yes_or_no", domains::all_constraints),
    empty(13315, "domain_udt_usage", "udt_catalog udt_schema udt_name domain_catalog domain_schema domain_name"),
    filled(13320, "domains",
        "domain_catalog domain_schema domain_name data_type:character_data \
         character_maximum_length:cardinal_number character_octet_length:cardinal_number \
         character_set_catalog character_set_schema character_set_name collation_catalog collation_schema \
         collation_name numeric_precision:cardinal_number numeric_precision_radix:cardinal_number \
         numeric_scale:cardinal_number datetime_precision:cardinal_number interval_type:character_data \
         interval_precision:cardinal_number domain_default:character_data udt_catalog udt_schema udt_name \
         scope_catalog scope_schema scope_name maximum_cardinality:cardinal_number dtd_identifier", domains::all),
    empty(13493, "element_types",
        "object_catalog object_schema object_name object_type:character_data collection_type_identifier \
         data_type:character_data character_maximum_length:cardinal_number \
         character_octet_length:cardinal_number character_set_catalog character_set_schema character_set_name \
         collation_catalog collation_schema collation_name numeric_precision:cardinal_number \
         numeric_precision_radix:cardinal_number numeric_scale:cardinal_number \
         datetime_precision:cardinal_number interval_type:character_data interval_precision:cardinal_number \
         domain_default:character_data udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name \
         maximum_cardinality:cardinal_number dtd_identifier"),
    filled(13325, "enabled_roles", "role_name", schema::enabled_roles),
    empty(13511, "foreign_data_wrapper_options",
        "foreign_data_wrapper_catalog foreign_data_wrapper_name option_name option_value:character_data"),
    empty(13515, "foreign_data_wrappers",
        "foreign_data_wrapper_catalog foreign_data_wrapper_name authorization_identifier \
         library_name:character_data foreign_data_wrapper_language:character_data"),
    empty(13524, "foreign_server_options",
        "foreign_server_catalog foreign_server_name option_name option_value:character_data"),
    empty(13528, "foreign_servers",
        "foreign_server_catalog foreign_server_name foreign_data_wrapper_catalog foreign_data_wrapper_name \
         foreign_server_type:character_data foreign_server_version:character_data authorization_identifier"),
    empty(13537, "foreign_table_options",
        "foreign_table_catalog foreign_table_schema foreign_table_name option_name \
         option_value:character_data"),
    empty(13541, "foreign_tables",
        "foreign_table_catalog foreign_table_schema foreign_table_name foreign_server_catalog \
         foreign_server_name"),
    filled(13227, "information_schema_catalog_name", "catalog_name", schema::catalog_name),
    filled(13329, "key_column_usage",
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name \
         column_name ordinal_position:cardinal_number position_in_unique_constraint:cardinal_number", schema_constraints::key_column_usage),
    filled(13334, "parameters",
        "specific_catalog specific_schema specific_name ordinal_position:cardinal_number \
         parameter_mode:character_data is_result:yes_or_no as_locator:yes_or_no parameter_name \
         data_type:character_data character_maximum_length:cardinal_number \
         character_octet_length:cardinal_number character_set_catalog character_set_schema character_set_name \
         collation_catalog collation_schema collation_name numeric_precision:cardinal_number \
         numeric_precision_radix:cardinal_number numeric_scale:cardinal_number \
         datetime_precision:cardinal_number interval_type:character_data interval_precision:cardinal_number \
         udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name \
         maximum_cardinality:cardinal_number dtd_identifier parameter_default:character_data", routines::parameters),
    filled(13339, "referential_constraints",
        "constraint_catalog constraint_schema constraint_name unique_constraint_catalog \
         unique_constraint_schema unique_constraint_name match_option:character_data \
         update_rule:character_data delete_rule:character_data", schema_constraints::referential_constraints),
    filled(13344, "role_column_grants",
        "grantor grantee table_catalog table_schema table_name column_name privilege_type:character_data \
         is_grantable:yes_or_no", schema_privileges::role_column_grants),
    filled(13358, "role_routine_grants",
        "grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema \
         routine_name privilege_type:character_data is_grantable:yes_or_no", schema_privileges::role_routine_grants),
    filled(13421, "role_table_grants",
        "grantor grantee table_catalog table_schema table_name privilege_type:character_data \
         is_grantable:yes_or_no with_hierarchy:yes_or_no", schema_privileges::role_table_grants),
    empty(13450, "role_udt_grants",
        "grantor grantee udt_catalog udt_schema udt_name privilege_type:character_data is_grantable:yes_or_no"),
    empty(13459, "role_usage_grants",
        "grantor grantee object_catalog object_schema object_name object_type:character_data \
         privilege_type:character_data is_grantable:yes_or_no"),
    empty(13348, "routine_column_usage",
        "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name \
         table_catalog table_schema table_name column_name"),
    filled(13353, "routine_privileges",
        "grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema \
         routine_name privilege_type:character_data is_grantable:yes_or_no", schema_privileges::routine_privileges),
    empty(13362, "routine_routine_usage",
        "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name"),
    empty(13367, "routine_sequence_usage",
        "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name \
         sequence_catalog sequence_schema sequence_name"),
    empty(13372, "routine_table_usage",
        "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name \
         table_catalog table_schema table_name"),
    filled(13377, "routines",
        "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name \
         routine_type:character_data module_catalog module_schema module_name udt_catalog udt_schema udt_name \
         data_type:character_data character_maximum_length:cardinal_number \
         character_octet_length:cardinal_number character_set_catalog character_set_schema character_set_name \
         collation_catalog collation_schema collation_name numeric_precision:cardinal_number \
         numeric_precision_radix:cardinal_number numeric_scale:cardinal_number \
         datetime_precision:cardinal_number interval_type:character_data interval_precision:cardinal_number \
         type_udt_catalog type_udt_schema type_udt_name scope_catalog scope_schema scope_name \
         maximum_cardinality:cardinal_number dtd_identifier routine_body:character_data \
         routine_definition:character_data external_name:character_data external_language:character_data \
         parameter_style:character_data is_deterministic:yes_or_no sql_data_access:character_data \
         is_null_call:yes_or_no sql_path:character_data schema_level_routine:yes_or_no \
         max_dynamic_result_sets:cardinal_number is_user_defined_cast:yes_or_no \
         is_implicitly_invocable:yes_or_no security_type:character_data to_sql_specific_catalog \
         to_sql_specific_schema to_sql_specific_name as_locator:yes_or_no created:time_stamp \
         last_altered:time_stamp new_savepoint_level:yes_or_no is_udt_dependent:yes_or_no \
         result_cast_from_data_type:character_data result_cast_as_locator:yes_or_no \
         result_cast_char_max_length:cardinal_number result_cast_char_octet_length:cardinal_number \
         result_cast_char_set_catalog result_cast_char_set_schema result_cast_char_set_name \
         result_cast_collation_catalog result_cast_collation_schema result_cast_collation_name \
         result_cast_numeric_precision:cardinal_number result_cast_numeric_precision_radix:cardinal_number \
         result_cast_numeric_scale:cardinal_number result_cast_datetime_precision:cardinal_number \
         result_cast_interval_type:character_data result_cast_interval_precision:cardinal_number \
         result_cast_type_udt_catalog result_cast_type_udt_schema result_cast_type_udt_name \
         result_cast_scope_catalog result_cast_scope_schema result_cast_scope_name \
         result_cast_maximum_cardinality:cardinal_number result_cast_dtd_identifier", schema::routines),
    filled(13382, "schemata",
        "catalog_name schema_name schema_owner default_character_set_catalog default_character_set_schema \
         default_character_set_name sql_path:character_data", schema::schemata),
    filled(13386, "sequences",
        "sequence_catalog sequence_schema sequence_name data_type:character_data \
         numeric_precision:cardinal_number numeric_precision_radix:cardinal_number \
         numeric_scale:cardinal_number start_value:character_data minimum_value:character_data \
         maximum_value:character_data increment:character_data cycle_option:yes_or_no", schema::sequences),
    empty(13391, "sql_features",
        "feature_id:character_data feature_name:character_data sub_feature_id:character_data \
         sub_feature_name:character_data is_supported:yes_or_no is_verified_by:character_data \
         comments:character_data"),
    empty(13396, "sql_implementation_info",
        "implementation_info_id:character_data implementation_info_name:character_data \
         integer_value:cardinal_number character_value:character_data comments:character_data"),
    empty(13401, "sql_parts",
        "feature_id:character_data feature_name:character_data is_supported:yes_or_no \
         is_verified_by:character_data comments:character_data"),
    empty(13406, "sql_sizing",
        "sizing_id:cardinal_number sizing_name:character_data supported_value:cardinal_number \
         comments:character_data"),
    filled(13411, "table_constraints",
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name \
         constraint_type:character_data is_deferrable:yes_or_no initially_deferred:yes_or_no \
         enforced:yes_or_no nulls_distinct:yes_or_no", schema_constraints::table_constraints),
    filled(13416, "table_privileges",
        "grantor grantee table_catalog table_schema table_name privilege_type:character_data \
         is_grantable:yes_or_no with_hierarchy:yes_or_no", schema_privileges::table_privileges),
    filled(13425, "tables",
        "table_catalog table_schema table_name table_type:character_data self_referencing_column_name \
         reference_generation:character_data user_defined_type_catalog user_defined_type_schema \
         user_defined_type_name is_insertable_into:yes_or_no is_typed:yes_or_no commit_action:character_data", schema::tables),
    empty(13430, "transforms",
        "udt_catalog udt_schema udt_name specific_catalog specific_schema specific_name group_name \
         transform_type:character_data"),
    empty(13435, "triggered_update_columns",
        "trigger_catalog trigger_schema trigger_name event_object_catalog event_object_schema \
         event_object_table event_object_column"),
    filled(13440, "triggers",
        "trigger_catalog trigger_schema trigger_name event_manipulation:character_data event_object_catalog \
         event_object_schema event_object_table action_order:cardinal_number action_condition:character_data \
         action_statement:character_data action_orientation:character_data action_timing:character_data \
         action_reference_old_table action_reference_new_table action_reference_old_row \
         action_reference_new_row created:time_stamp", triggers::schema_triggers),
    empty(13445, "udt_privileges",
        "grantor grantee udt_catalog udt_schema udt_name privilege_type:character_data is_grantable:yes_or_no"),
    empty(13454, "usage_privileges",
        "grantor grantee object_catalog object_schema object_name object_type:character_data \
         privilege_type:character_data is_grantable:yes_or_no"),
    empty(13463, "user_defined_types",
        "user_defined_type_catalog user_defined_type_schema user_defined_type_name \
         user_defined_type_category:character_data is_instantiable:yes_or_no is_final:yes_or_no \
         ordering_form:character_data ordering_category:character_data ordering_routine_catalog \
         ordering_routine_schema ordering_routine_name reference_type:character_data data_type:character_data \
         character_maximum_length:cardinal_number character_octet_length:cardinal_number \
         character_set_catalog character_set_schema character_set_name collation_catalog collation_schema \
         collation_name numeric_precision:cardinal_number numeric_precision_radix:cardinal_number \
         numeric_scale:cardinal_number datetime_precision:cardinal_number interval_type:character_data \
         interval_precision:cardinal_number source_dtd_identifier ref_dtd_identifier"),
    empty(13550, "user_mapping_options",
        "authorization_identifier foreign_server_catalog foreign_server_name option_name \
         option_value:character_data"),
    empty(13555, "user_mappings", "authorization_identifier foreign_server_catalog foreign_server_name"),
    empty(13468, "view_column_usage",
        "view_catalog view_schema view_name table_catalog table_schema table_name column_name"),
    empty(13473, "view_routine_usage",
        "table_catalog table_schema table_name specific_catalog specific_schema specific_name"),
    filled(13478, "view_table_usage", "view_catalog view_schema view_name table_catalog table_schema table_name", schema_privileges::view_table_usage),
    filled(13483, "views",
        "table_catalog table_schema table_name view_definition:character_data check_option:character_data \
         is_updatable:yes_or_no is_insertable_into:yes_or_no is_trigger_updatable:yes_or_no \
         is_trigger_deletable:yes_or_no is_trigger_insertable_into:yes_or_no", schema::views),
];
