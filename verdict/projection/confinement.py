"""Lets people whom nobody knows ask on PostgreSQL, as a role that their SQL cannot put off.

What `SET ROLE` says a query unsays: `SELECT set_config('role', 'none', true)`, and then reads what
the service's own login may. Inside a function that runs as its owner the server refuses that. So
each role owns one, which lies with the tables, where readers find nothing, and only we may call it.
"""

from verdict.projection.layout import TABLES, VIEWS

EXISTS = f"SELECT to_regprocedure('{TABLES}.{{role}}(text)')"
MAKE = f"""\
GRANT USAGE, CREATE ON SCHEMA {TABLES} TO {{role}};
CREATE FUNCTION {TABLES}.{{role}}(query text) RETURNS SETOF record LANGUAGE plpgsql
SECURITY DEFINER SET search_path TO {VIEWS}, pg_temp AS 'BEGIN RETURN QUERY EXECUTE query; END';
REVOKE ALL ON FUNCTION {TABLES}.{{role}} FROM PUBLIC;
ALTER FUNCTION {TABLES}.{{role}} OWNER TO {{role}};
GRANT EXECUTE ON FUNCTION {TABLES}.{{role}} TO CURRENT_USER;
REVOKE USAGE, CREATE ON SCHEMA {TABLES} FROM {{role}}"""
