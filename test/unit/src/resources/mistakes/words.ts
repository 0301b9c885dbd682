/** Upstream's words, most of them from apimachinery `pkg/util/validation`. */

const LABEL_PATTERN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

export const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'example.com', " +
  `regex used for validation is '${LABEL_PATTERN}(\\.${LABEL_PATTERN})*')`

export const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " +
  `regex used for validation is '${LABEL_PATTERN}')`

export const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
  'start with an alphabetic character, and end with an alphanumeric character ' +
  "(e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

export const QUALIFIED_NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', " +
  'and must start and end with an alphanumeric character ' +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', " +
  "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

export const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
  'and must start and end with an alphanumeric character ' +
  "(e.g. 'MyValue',  or 'my_value',  or '12345', " +
  "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

export const ENVIRONMENT =
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', " +
  'and must not start with a digit ' +
  "(e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', " +
  "regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"

export const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' " +
  "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

export const PORT = 'must be between 1 and 65535, inclusive'
export const NOT_NEGATIVE = 'must be greater than or equal to 0'
export const NO_NAME = 'FieldValueRequired metadata.name: Required value: name or generateName is required'
export const NO_MATCH = '`selector` does not match template `labels`'
