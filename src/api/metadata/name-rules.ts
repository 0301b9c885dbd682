/**
 * Rules for names, keys and values. Each returns error texts, those of upstream because users and
 * scripts know them; an empty list means valid.
 *
 * @source RFC 1123, RFC 1035; apimachinery `pkg/util/validation`, `pkg/api/validation/path`
 */
export type NameRule = (text: string) => readonly string[]

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const LABEL_VALUE = `(${QUALIFIED})?`
const CONFIG_KEY = '[-._a-zA-Z0-9]+'
const ENVIRONMENT = '[-._a-zA-Z][-._a-zA-Z0-9]*'
const HEADER = '[-A-Za-z0-9]+'

const QUALIFIED_WORDS =
  "must consist of alphanumeric characters, '-', '_' or '.', " +
  'and must start and end with an alphanumeric character'

const labelRegExp = whole(LABEL)
const subdomainRegExp = whole(SUBDOMAIN)
const label1035RegExp = whole(LABEL_1035)
const qualifiedRegExp = whole(QUALIFIED)
const labelValueRegExp = whole(LABEL_VALUE)
const configKeyRegExp = whole(CONFIG_KEY)
const environmentRegExp = whole(ENVIRONMENT)
const headerRegExp = whole(HEADER)

/** Namespaces and other names that are one DNS label: at most 63 characters. */
export function checkDns1123Label(text: string): readonly string[] {
  return check(text, 63, labelRegExp, () =>
    pattern(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
        'and must start and end with an alphanumeric character',
      LABEL,
      ['my-name', '123-abc'],
    ),
  )
}

/** Names of most objects: at most 253 characters. */
export function checkDns1123Subdomain(text: string): readonly string[] {
  return check(text, 253, subdomainRegExp, () =>
    pattern(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
        'and must start and end with an alphanumeric character',
      SUBDOMAIN,
      ['example.com'],
    ),
  )
}

/** Names of Services: at most 63 characters, begins with a letter. */
export function checkDns1035Label(text: string): readonly string[] {
  return check(text, 63, label1035RegExp, () =>
    pattern(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
        'start with an alphabetic character, and end with an alphanumeric character',
      LABEL_1035,
      ['my-name', 'abc-123'],
    ),
  )
}

/** Keys of labels and annotations, finalizers: `[prefix/]name`. */
export function checkQualifiedName(text: string): readonly string[] {
  const wrong: string[] = []
  const parts = text.split('/', 3)
  const examples = ['MyName', 'my.name', '123-abc']
  if (parts.length > 2) {
    const words = pattern(QUALIFIED_WORDS, QUALIFIED, examples)
    return [
      `a qualified name ${words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts[parts.length - 1] ?? ''
  if (parts.length === 2) {
    const prefix = parts[0] ?? ''
    if (prefix === '') wrong.push(`prefix part ${EMPTY}`)
    else wrong.push(...checkDns1123Subdomain(prefix).map((words) => `prefix part ${words}`))
  }
  if (name === '') wrong.push(`name part ${EMPTY}`)
  else if (name.length > 63) wrong.push(`name part ${tooLongWords(63)}`)
  if (!qualifiedRegExp.test(name)) wrong.push(`name part ${pattern(QUALIFIED_WORDS, QUALIFIED, examples)}`)
  return wrong
}

/** Values of labels: empty, or at most 63 characters. */
export function checkLabelValue(text: string): readonly string[] {
  return check(text, 63, labelValueRegExp, () =>
    pattern(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
        'and must start and end with an alphanumeric character',
      LABEL_VALUE,
      ['MyValue', 'my_value', '12345'],
    ),
  )
}

/** Keys of ConfigMap and Secret data, which become file names: at most 253 characters. */
export function checkConfigKey(text: string): readonly string[] {
  const wrong = [
    ...check(text, 253, configKeyRegExp, () =>
      pattern("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", CONFIG_KEY, [
        'key.name',
        'KEY_NAME',
        'key-name',
      ]),
    ),
  ]
  return [...wrong, ...checkNoParent(text)]
}

/** A key must not be `.` or begin with `..`. */
function checkNoParent(text: string): readonly string[] {
  if (text === '.' || text === '..') return [`must not be '${text}'`]
  return text.startsWith('..') ? [`must not start with '..'`] : []
}

/** Names of environment variables. */
export function checkEnvironmentName(text: string): readonly string[] {
  const wrong = [
    ...check(text, Infinity, environmentRegExp, () =>
      pattern(
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', " +
          'and must not start with a digit',
        ENVIRONMENT,
        ['my.env-name', 'MY_ENV.NAME', 'MyEnvName1'],
      ),
    ),
  ]
  return [...wrong, ...checkNoParent(text)]
}

/** Names of ports: at most 15 characters. */
export function checkPortName(text: string): readonly string[] {
  const wrong: string[] = []
  if (text.length > 15) wrong.push(tooLongWords(15))
  if (!/^[-a-z0-9]+$/.test(text)) {
    wrong.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  }
  if (!/[a-z]/.test(text)) wrong.push('must contain at least one letter (a-z)')
  if (text.includes('--')) wrong.push('must not contain consecutive hyphens')
  if (text.startsWith('-') || text.endsWith('-')) wrong.push('must not begin or end with a hyphen')
  return wrong
}

/** Names of HTTP headers. */
export function checkHttpHeaderName(text: string): readonly string[] {
  return check(text, Infinity, headerRegExp, () =>
    pattern("a valid HTTP header must consist of alphanumeric characters or '-'", HEADER, ['X-Header-Name']),
  )
}

/** Checks that a name can be a path segment. */
export function checkPathSegment(text: string): readonly string[] {
  if (text === '.' || text === '..') return [`may not be '${text}'`]
  return ['/', '%'].filter((part) => text.includes(part)).map((part) => `may not contain '${part}'`)
}

/** Checks a `generateName`: its last `-` is followed by generated characters. */
export function checkNamePrefix(prefix: string, rule: NameRule): readonly string[] {
  return rule(prefix.endsWith('-') ? `${prefix.slice(0, -1)}a` : prefix)
}

const EMPTY = 'must be non-empty'

function tooLongWords(lengthMax: number): string {
  return `must be no more than ${lengthMax} characters`
}

function check(text: string, lengthMax: number, regExp: RegExp, words: () => string): readonly string[] {
  const wrong: string[] = []
  if (text.length > lengthMax) wrong.push(tooLongWords(lengthMax))
  if (!regExp.test(text)) wrong.push(words())
  return wrong
}

function pattern(words: string, source: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ')
  return `${words} (e.g. ${shown}regex used for validation is '${source}')`
}

function whole(source: string): RegExp {
  return new RegExp(`^(?:${source})$`)
}
