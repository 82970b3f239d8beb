//! Tables of pg_catalog, as PostgreSQL 15 has them.
//!
//! See `definition` for how to read a line. Relations without a row function have no rows: mote has no such objects.

use super::{Definition, empty, filled};
use crate::views::rows::{
    attributes, cluster, constraints, descriptions, extensions, functions, inheritance, partitions,
    publications, relations, statistics, triggers, types,
};

#[rustfmt::skip]
pub(super) const RELATIONS: &[Definition] = &[
    filled(2600, "pg_aggregate",
        "aggfnoid:regproc! aggkind:char! aggnumdirectargs:int2! aggtransfn:regproc! aggfinalfn:regproc! \
         aggcombinefn:regproc! aggserialfn:regproc! aggdeserialfn:regproc! aggmtransfn:regproc! \
         aggminvtransfn:regproc! aggmfinalfn:regproc! aggfinalextra:bool! aggmfinalextra:bool! \
         aggfinalmodify:char! aggmfinalmodify:char! aggsortop:oid! aggtranstype:oid! aggtransspace:int4! \
         aggmtranstype:oid! aggmtransspace:int4! agginitval:text aggminitval:text", functions::aggregates),
    filled(2601, "pg_am", "oid:oid! amname:name! amhandler:regproc! amtype:char!", types::access_methods),
    empty(2602, "pg_amop",
        "oid:oid! amopfamily:oid! amoplefttype:oid! amoprighttype:oid! amopstrategy:int2! amoppurpose:char! \
         amopopr:oid! amopmethod:oid! amopsortfamily:oid!"),
    empty(2603, "pg_amproc",
        "oid:oid! amprocfamily:oid! amproclefttype:oid! amprocrighttype:oid! amprocnum:int2! amproc:regproc!"),
    filled(2604, "pg_attrdef", "oid:oid! adrelid:oid! adnum:int2! adbin:pg_node_tree!", attributes::attrdef),
    filled(1249, "pg_attribute",
        "attrelid:oid! attname:name! atttypid:oid! attstattarget:int4! attlen:int2! attnum:int2! \
         attndims:int4! attcacheoff:int4! atttypmod:int4! attbyval:bool! attalign:char! attstorage:char! \
         attcompression:char! attnotnull:bool! atthasdef:bool! atthasmissing:bool! attidentity:char! \
         attgenerated:char! attisdropped:bool! attislocal:bool! attinhcount:int4! attcollation:oid! \
         attacl:_aclitem attoptions:_text attfdwoptions:_text attmissingval:anyarray", attributes::attribute),
    filled(1261, "pg_auth_members", "roleid:oid! member:oid! grantor:oid! admin_option:bool!", cluster::members),
    filled(1260, "pg_authid",
        "oid:oid! rolname:name! rolsuper:bool! rolinherit:bool! rolcreaterole:bool! rolcreatedb:bool! \
         rolcanlogin:bool! rolreplication:bool! rolbypassrls:bool! rolconnlimit:int4! rolpassword:text \
         rolvaliduntil:timestamptz", cluster::authid),
    filled(2605, "pg_cast",
        "oid:oid! castsource:oid! casttarget:oid! castfunc:oid! castcontext:char! castmethod:char!", types::casts),
    filled(1259, "pg_class",
        "oid:oid! relname:name! relnamespace:oid! reltype:oid! reloftype:oid! relowner:oid! relam:oid! \
         relfilenode:oid! reltablespace:oid! relpages:int4! reltuples:float4! relallvisible:int4! \
         reltoastrelid:oid! relhasindex:bool! relisshared:bool! relpersistence:char! relkind:char! \
         relnatts:int2! relchecks:int2! relhasrules:bool! relhastriggers:bool! relhassubclass:bool! \
         relrowsecurity:bool! relforcerowsecurity:bool! relispopulated:bool! relreplident:char! \
         relispartition:bool! relrewrite:oid! relfrozenxid:xid! relminmxid:xid! relacl:_aclitem \
         reloptions:_text relpartbound:pg_node_tree", relations::class),
    filled(3456, "pg_collation",
        "oid:oid! collname:name! collnamespace:oid! collowner:oid! collprovider:char! \
         collisdeterministic:bool! collencoding:int4! collcollate:text collctype:text colliculocale:text \
         collversion:text", types::collations),
    filled(2606, "pg_constraint",
        "oid:oid! conname:name! connamespace:oid! contype:char! condeferrable:bool! condeferred:bool! \
         convalidated:bool! conrelid:oid! contypid:oid! conindid:oid! conparentid:oid! confrelid:oid! \
         confupdtype:char! confdeltype:char! confmatchtype:char! conislocal:bool! coninhcount:int4! \
         connoinherit:bool! conkey:_int2 confkey:_int2 conpfeqop:_oid conppeqop:_oid conffeqop:_oid \
         confdelsetcols:_int2 conexclop:_oid conbin:pg_node_tree", constraints::constraint),
    empty(2607, "pg_conversion",
        "oid:oid! conname:name! connamespace:oid! conowner:oid! conforencoding:int4! contoencoding:int4! \
         conproc:regproc! condefault:bool!"),
    filled(1262, "pg_database",
        "oid:oid! datname:name! datdba:oid! encoding:int4! datlocprovider:char! datistemplate:bool! \
         datallowconn:bool! datconnlimit:int4! datfrozenxid:xid! datminmxid:xid! dattablespace:oid! \
         datcollate:text! datctype:text! daticulocale:text datcollversion:text datacl:_aclitem", cluster::databases),
    filled(2964, "pg_db_role_setting", "setdatabase:oid! setrole:oid! setconfig:_text", cluster::role_settings),
    filled(826, "pg_default_acl",
        "oid:oid! defaclrole:oid! defaclnamespace:oid! defaclobjtype:char! defaclacl:_aclitem!", cluster::default_privileges),
    filled(2608, "pg_depend",
        "classid:oid! objid:oid! objsubid:int4! refclassid:oid! refobjid:oid! refobjsubid:int4! deptype:char!", constraints::depend),
    filled(2609, "pg_description",
        "objoid:oid! classoid:oid! objsubid:int4! description:text!", descriptions::description),
    filled(3501, "pg_enum", "oid:oid! enumtypid:oid! enumsortorder:float4! enumlabel:name!", types::enums),
    empty(3466, "pg_event_trigger",
        "oid:oid! evtname:name! evtevent:name! evtowner:oid! evtfoid:oid! evtenabled:char! evttags:_text"),
    filled(3079, "pg_extension",
        "oid:oid! extname:name! extowner:oid! extnamespace:oid! extrelocatable:bool! extversion:text! \
         extconfig:_oid extcondition:_text", extensions::installed),
    empty(2328, "pg_foreign_data_wrapper",
        "oid:oid! fdwname:name! fdwowner:oid! fdwhandler:oid! fdwvalidator:oid! fdwacl:_aclitem \
         fdwoptions:_text"),
    empty(1417, "pg_foreign_server",
        "oid:oid! srvname:name! srvowner:oid! srvfdw:oid! srvtype:text srvversion:text srvacl:_aclitem \
         srvoptions:_text"),
    empty(3118, "pg_foreign_table", "ftrelid:oid! ftserver:oid! ftoptions:_text"),
    filled(2610, "pg_index",
        "indexrelid:oid! indrelid:oid! indnatts:int2! indnkeyatts:int2! indisunique:bool! \
         indnullsnotdistinct:bool! indisprimary:bool! indisexclusion:bool! indimmediate:bool! \
         indisclustered:bool! indisvalid:bool! indcheckxmin:bool! indisready:bool! indislive:bool! \
         indisreplident:bool! indkey:int2vector! indcollation:oidvector! indclass:oidvector! \
         indoption:int2vector! indexprs:pg_node_tree indpred:pg_node_tree", relations::index),
    filled(2611, "pg_inherits",
        "inhrelid:oid! inhparent:oid! inhseqno:int4! inhdetachpending:bool!", inheritance::inherits),
    filled(3394, "pg_init_privs",
        "objoid:oid! classoid:oid! objsubid:int4! privtype:char! initprivs:_aclitem!", relations::initial_privileges),
    filled(2612, "pg_language",
        "oid:oid! lanname:name! lanowner:oid! lanispl:bool! lanpltrusted:bool! lanplcallfoid:oid! \
         laninline:oid! lanvalidator:oid! lanacl:_aclitem", types::languages),
    empty(2613, "pg_largeobject", "loid:oid! pageno:int4! data:bytea!"),
    empty(2995, "pg_largeobject_metadata", "oid:oid! lomowner:oid! lomacl:_aclitem"),
    filled(2615, "pg_namespace", "oid:oid! nspname:name! nspowner:oid! nspacl:_aclitem", cluster::namespaces),
    filled(2616, "pg_opclass",
        "oid:oid! opcmethod:oid! opcname:name! opcnamespace:oid! opcowner:oid! opcfamily:oid! opcintype:oid! \
         opcdefault:bool! opckeytype:oid!", types::opclasses),
    filled(2617, "pg_operator",
        "oid:oid! oprname:name! oprnamespace:oid! oprowner:oid! oprkind:char! oprcanmerge:bool! \
         oprcanhash:bool! oprleft:oid! oprright:oid! oprresult:oid! oprcom:oid! oprnegate:oid! \
         oprcode:regproc! oprrest:regproc! oprjoin:regproc!", functions::operators),
    filled(2753, "pg_opfamily",
        "oid:oid! opfmethod:oid! opfname:name! opfnamespace:oid! opfowner:oid!", types::opfamilies),
    empty(6243, "pg_parameter_acl", "oid:oid! parname:text! paracl:_aclitem"),
    filled(3350, "pg_partitioned_table",
        "partrelid:oid! partstrat:char! partnatts:int2! partdefid:oid! partattrs:int2vector! \
         partclass:oidvector! partcollation:oidvector! partexprs:pg_node_tree", partitions::partitioned_tables),
    empty(3256, "pg_policy",
        "oid:oid! polname:name! polrelid:oid! polcmd:char! polpermissive:bool! polroles:_oid! \
         polqual:pg_node_tree polwithcheck:pg_node_tree"),
    filled(1255, "pg_proc",
        "oid:oid! proname:name! pronamespace:oid! proowner:oid! prolang:oid! procost:float4! prorows:float4! \
         provariadic:oid! prosupport:regproc! prokind:char! prosecdef:bool! proleakproof:bool! \
         proisstrict:bool! proretset:bool! provolatile:char! proparallel:char! pronargs:int2! \
         pronargdefaults:int2! prorettype:oid! proargtypes:oidvector! proallargtypes:_oid proargmodes:_char \
         proargnames:_text proargdefaults:pg_node_tree protrftypes:_oid prosrc:text! probin:text \
         prosqlbody:pg_node_tree proconfig:_text proacl:_aclitem", functions::procs),
    filled(6104, "pg_publication",
        "oid:oid! pubname:name! pubowner:oid! puballtables:bool! pubinsert:bool! pubupdate:bool! \
         pubdelete:bool! pubtruncate:bool! pubviaroot:bool!", publications::publications),
    empty(6237, "pg_publication_namespace", "oid:oid! pnpubid:oid! pnnspid:oid!"),
    filled(6106, "pg_publication_rel",
        "oid:oid! prpubid:oid! prrelid:oid! prqual:pg_node_tree prattrs:int2vector", publications::members),
    filled(3541, "pg_range",
        "rngtypid:oid! rngsubtype:oid! rngmultitypid:oid! rngcollation:oid! rngsubopc:oid! \
         rngcanonical:regproc! rngsubdiff:regproc!", types::ranges),
    empty(6000, "pg_replication_origin", "roident:oid! roname:text!"),
    filled(2618, "pg_rewrite",
        "oid:oid! rulename:name! ev_class:oid! ev_type:char! ev_enabled:char! is_instead:bool! \
         ev_qual:pg_node_tree! ev_action:pg_node_tree!", relations::rewrite),
    empty(3596, "pg_seclabel", "objoid:oid! classoid:oid! objsubid:int4! provider:text! label:text!"),
    filled(2224, "pg_sequence",
        "seqrelid:oid! seqtypid:oid! seqstart:int8! seqincrement:int8! seqmax:int8! seqmin:int8! \
         seqcache:int8! seqcycle:bool!", relations::sequence),
    empty(1214, "pg_shdepend",
        "dbid:oid! classid:oid! objid:oid! objsubid:int4! refclassid:oid! refobjid:oid! deptype:char!"),
    filled(2396, "pg_shdescription", "objoid:oid! classoid:oid! description:text!", descriptions::shdescription),
    empty(3592, "pg_shseclabel", "objoid:oid! classoid:oid! provider:text! label:text!"),
    filled(2619, "pg_statistic",
        "starelid:oid! staattnum:int2! stainherit:bool! stanullfrac:float4! stawidth:int4! \
         stadistinct:float4! stakind1:int2! stakind2:int2! stakind3:int2! stakind4:int2! stakind5:int2! \
         staop1:oid! staop2:oid! staop3:oid! staop4:oid! staop5:oid! stacoll1:oid! stacoll2:oid! \
         stacoll3:oid! stacoll4:oid! stacoll5:oid! stanumbers1:_float4 stanumbers2:_float4 \
         stanumbers3:_float4 stanumbers4:_float4 stanumbers5:_float4 stavalues1:anyarray stavalues2:anyarray \
         stavalues3:anyarray stavalues4:anyarray stavalues5:anyarray", statistics::statistic),
    empty(3381, "pg_statistic_ext",
        "oid:oid! stxrelid:oid! stxname:name! stxnamespace:oid! stxowner:oid! stxstattarget:int4! \
         stxkeys:int2vector! stxkind:_char! stxexprs:pg_node_tree"),
    empty(3429, "pg_statistic_ext_data",
        "stxoid:oid! stxdinherit:bool! stxdndistinct:pg_ndistinct stxddependencies:pg_dependencies \
         stxdmcv:pg_mcv_list stxdexpr:_pg_statistic"),
    empty(6100, "pg_subscription",
        "oid:oid! subdbid:oid! subskiplsn:pg_lsn! subname:name! subowner:oid! subenabled:bool! \
         subbinary:bool! substream:bool! subtwophasestate:char! subdisableonerr:bool! subconninfo:text! \
         subslotname:name subsynccommit:text! subpublications:_text!"),
    empty(6102, "pg_subscription_rel", "srsubid:oid! srrelid:oid! srsubstate:char! srsublsn:pg_lsn"),
    filled(1213, "pg_tablespace",
        "oid:oid! spcname:name! spcowner:oid! spcacl:_aclitem spcoptions:_text", cluster::tablespaces),
    empty(3576, "pg_transform", "oid:oid! trftype:oid! trflang:oid! trffromsql:regproc! trftosql:regproc!"),
    filled(2620, "pg_trigger",
        "oid:oid! tgrelid:oid! tgparentid:oid! tgname:name! tgfoid:oid! tgtype:int2! tgenabled:char! \
         tgisinternal:bool! tgconstrrelid:oid! tgconstrindid:oid! tgconstraint:oid! tgdeferrable:bool! \
         tginitdeferred:bool! tgnargs:int2! tgattr:int2vector! tgargs:bytea! tgqual:pg_node_tree \
         tgoldtable:name tgnewtable:name", triggers::triggers),
    empty(3602, "pg_ts_config", "oid:oid! cfgname:name! cfgnamespace:oid! cfgowner:oid! cfgparser:oid!"),
    empty(3603, "pg_ts_config_map", "mapcfg:oid! maptokentype:int4! mapseqno:int4! mapdict:oid!"),
    empty(3600, "pg_ts_dict",
        "oid:oid! dictname:name! dictnamespace:oid! dictowner:oid! dicttemplate:oid! dictinitoption:text"),
    empty(3601, "pg_ts_parser",
        "oid:oid! prsname:name! prsnamespace:oid! prsstart:regproc! prstoken:regproc! prsend:regproc! \
         prsheadline:regproc! prslextype:regproc!"),
    empty(3764, "pg_ts_template",
        "oid:oid! tmplname:name! tmplnamespace:oid! tmplinit:regproc! tmpllexize:regproc!"),
    filled(1247, "pg_type",
        "oid:oid! typname:name! typnamespace:oid! typowner:oid! typlen:int2! typbyval:bool! typtype:char! \
         typcategory:char! typispreferred:bool! typisdefined:bool! typdelim:char! typrelid:oid! \
         typsubscript:regproc! typelem:oid! typarray:oid! typinput:regproc! typoutput:regproc! \
         typreceive:regproc! typsend:regproc! typmodin:regproc! typmodout:regproc! typanalyze:regproc! \
         typalign:char! typstorage:char! typnotnull:bool! typbasetype:oid! typtypmod:int4! typndims:int4! \
         typcollation:oid! typdefaultbin:pg_node_tree typdefault:text typacl:_aclitem", types::types),
    empty(1418, "pg_user_mapping", "oid:oid! umuser:oid! umserver:oid! umoptions:_text"),
];
