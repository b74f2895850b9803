"""The queries that spell a database's definitions, without the numbers that differ per clone.

Each yields (kind, schema or None, name, what follows the name, definition). What belongs to
an extension is left out: the extension with its version stands for it.
"""

from __future__ import annotations

import re

_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
# \\1 is the catalog, \\2 its name in the query.
_LONE = r"""
NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_catalog.\1'::regclass
            AND d.objid = \2.oid AND d.deptype = 'e')
"""

_SCHEMAS = """
SELECT 'schema', NULL, n.nspname, '', json_build_object(
  'owner', n.nspowner::regrole::text, 'privileges', n.nspacl::text)
FROM pg_namespace n WHERE n.oid >= 16384 AND n.nspname !~ '^pg_' OR n.nspname = 'public'
"""

_EXTENSIONS = """
SELECT 'extension', NULL, x.extname, '', json_build_object(
  'schema', x.extnamespace::regnamespace::text, 'version', x.extversion)
FROM pg_extension x WHERE x.oid >= 16384
"""

_TABLES = """
SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
         WHEN 'f' THEN 'foreign table' WHEN 'c' THEN 'type' ELSE 'table' END,
  n.nspname, c.relname, '', json_build_object(
    'owner', c.relowner::regrole::text, 'privileges', c.relacl::text,
    'persistence', c.relpersistence, 'options', c.reloptions::text,
    'method', (SELECT amname FROM pg_am WHERE pg_am.oid = c.relam),
    'row_security', c.relrowsecurity, 'row_security_forced', c.relforcerowsecurity,
    'identity', c.relreplident, 'populated', c.relispopulated,
    'partition_by', CASE c.relkind WHEN 'p' THEN pg_get_partkeydef(c.oid) END,
    'partition', pg_get_expr(c.relpartbound, c.oid),
    'inherits', (SELECT json_agg(i.inhparent::regclass::text ORDER BY i.inhseqno)
                 FROM pg_inherits i WHERE i.inhrelid = c.oid),
    'query', CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
    'columns', (SELECT coalesce(json_object_agg(a.attname, json_build_object(
        'place', a.attnum, 'type', format_type(a.atttypid, a.atttypmod),
        'not_null', a.attnotnull, 'default', pg_get_expr(b.adbin, b.adrelid),
        'is_identity', a.attidentity, 'is_generated', a.attgenerated,
        'collation', nullif(a.attcollation, 0)::regcollation::text,
        'privileges', a.attacl::text) ORDER BY a.attnum), '{}')
      FROM pg_attribute a LEFT JOIN pg_attrdef b ON b.adrelid = a.attrelid AND b.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c') AND c.relpersistence <> 't' AND <own schema>
  AND <not of an extension: pg_class c>
"""

_CONSTRAINTS = """
SELECT 'constraint', n.nspname, coalesce(c.relname, t.typname), '.' || k.conname,
  json_build_object('definition', pg_get_constraintdef(k.oid), 'is_valid', k.convalidated)
FROM pg_constraint k LEFT JOIN pg_class c ON c.oid = k.conrelid
  LEFT JOIN pg_type t ON t.oid = k.contypid
  JOIN pg_namespace n ON n.oid = coalesce(c.relnamespace, t.typnamespace)
WHERE <own schema> AND coalesce(c.relpersistence, 'p') <> 't'
  AND <not of an extension: pg_constraint k>
"""

_INDEXES = """
SELECT 'index', n.nspname, c.relname, '', json_build_object(
  'definition', pg_get_indexdef(i.indexrelid), 'is_valid', i.indisvalid,
  'is_clustered', i.indisclustered, 'is_identity', i.indisreplident)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE <own schema> AND c.relpersistence <> 't' AND <not of an extension: pg_class c>
"""

_TRIGGERS = """
SELECT 'trigger', n.nspname, c.relname, '.' || t.tgname, json_build_object(
  'definition', pg_get_triggerdef(t.oid), 'enabled', t.tgenabled)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND <own schema> AND c.relpersistence <> 't'
"""

_EVENT_TRIGGERS = """
SELECT 'event trigger', NULL, e.evtname, '', json_build_object(
  'event', e.evtevent, 'function', e.evtfoid::regprocedure::text,
  'enabled', e.evtenabled, 'tags', e.evttags::text)
FROM pg_event_trigger e
"""

_RULES = """
SELECT 'rule', n.nspname, c.relname, '.' || r.rulename, json_build_object(
  'definition', pg_get_ruledef(r.oid), 'enabled', r.ev_enabled)
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN' AND <own schema> AND c.relpersistence <> 't'
"""

_POLICIES = """
SELECT 'policy', n.nspname, c.relname, '.' || p.polname, json_build_object(
  'command', p.polcmd, 'is_permissive', p.polpermissive,
  'roles', (SELECT json_agg(r.rolname ORDER BY r.rolname) FROM pg_roles r
            WHERE r.oid = ANY (p.polroles)),
  'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid))
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE <own schema>
"""

_FUNCTIONS = """
SELECT 'function', n.nspname, p.proname, '(' || pg_get_function_identity_arguments(p.oid) || ')',
  json_build_object(
    'definition', CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END,
    'aggregate', (SELECT json_build_object('step', g.aggtransfn::text, 'end', g.aggfinalfn::text,
        'state', g.aggtranstype::regtype::text, 'start', g.agginitval)
      FROM pg_aggregate g WHERE g.aggfnoid = p.oid),
    'owner', p.proowner::regrole::text, 'privileges', p.proacl::text)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE <own schema> AND n.nspname !~ '^pg_temp' AND <not of an extension: pg_proc p>
"""

_TYPES = """
SELECT 'type', n.nspname, t.typname, '', json_build_object(
  'kind', t.typtype, 'owner', t.typowner::regrole::text, 'privileges', t.typacl::text,
  'of', CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) END,
  'not_null', t.typnotnull, 'default', t.typdefault,
  'labels', (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e
             WHERE e.enumtypid = t.oid),
  'range_of', (SELECT format_type(r.rngsubtype, NULL) FROM pg_range r WHERE r.rngtypid = t.oid))
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype IN ('d', 'e', 'r') AND <own schema> AND n.nspname !~ '^pg_temp'
  AND <not of an extension: pg_type t>
"""

_SEQUENCES = """
SELECT 'sequence', n.nspname, c.relname, '', json_build_object(
  'type', format_type(s.seqtypid, NULL), 'start', s.seqstart, 'step', s.seqincrement,
  'most', s.seqmax, 'least', s.seqmin, 'cache', s.seqcache, 'cycles', s.seqcycle,
  'persistence', c.relpersistence, 'owner', c.relowner::regrole::text,
  'privileges', c.relacl::text,
  'of', (SELECT d.refobjid::regclass::text || '.' || a.attname FROM pg_depend d
         JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
         WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid
           AND d.refclassid = d.classid AND d.deptype IN ('a', 'i') LIMIT 1))
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE <own schema> AND c.relpersistence <> 't'
"""


def _written_out(query: str) -> str:
    query = query.replace("<own schema>", _OWN)
    return re.sub(r"<not of an extension: (\w+) (\w)>", _LONE, query)


ALL = tuple(
    map(
        _written_out,
        (
            _SCHEMAS,
            _EXTENSIONS,
            _TABLES,
            _CONSTRAINTS,
            _INDEXES,
            _TRIGGERS,
            _EVENT_TRIGGERS,
            _RULES,
            _POLICIES,
            _FUNCTIONS,
            _TYPES,
            _SEQUENCES,
        ),
    )
)
