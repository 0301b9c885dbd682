import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { FieldPlace } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'

/** @source upstream `pkg/apis/flowcontrol/validation` */

const PRECEDENCE_MAX = 10_000

const knownVerbs = [
  ...['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'],
]

/** The member of a subject that its kind selects. */
const subjectMembers: { readonly [kind: string]: string } = {
  ...{ Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' },
}

export function checkPrecedence(spec: JsonObject, name: string, found: Findings): void {
  const precedence = numberMember(spec, 'matchingPrecedence') ?? 0
  const refuse = (words: string): void => {
    found.add(invalid('spec.matchingPrecedence', precedence, words))
  }
  if (precedence <= 0) refuse('must be a positive value')
  if (precedence > PRECEDENCE_MAX) refuse(`must not be greater than ${PRECEDENCE_MAX}`)
  if (precedence === 1 && name !== 'exempt')
    refuse("only the schema named 'exempt' may have matchingPrecedence 1")
}

export function checkMethod(method: JsonObject, at: Path | null, found: Findings): void {
  const known = ['ByNamespace', 'ByUser']
  const type = textMember(method, 'type')
  if (!known.includes(type)) found.add(notSupported(fieldAt(at, 'type'), type, known))
}

export function checkLevelName(reference: JsonObject, at: Path | null, found: Findings): void {
  const name = textMember(reference, 'name')
  const field = fieldAt(at, 'name')
  if (name === '') found.add(required(field, 'must reference a priority level'))
  else for (const wrong of checkDns1123Subdomain(name)) found.add(invalid(field, name, wrong))
}

export function checkRules(rules: JsonObject, at: Path | null, found: Findings): void {
  if (objectsMember(rules, 'subjects').length === 0)
    found.add(required(fieldAt(at, 'subjects'), 'subjects must contain at least one value'))
  const lists = ['resourceRules', 'nonResourceRules']
  if (lists.some((list) => objectsMember(rules, list).length > 0)) return
  const words = 'at least one of resourceRules and nonResourceRules has to be non-empty'
  found.add(required(spellPath(at), words))
}

export function checkSubject(subject: JsonObject, at: Path | null, found: Findings): void {
  const kind = textMember(subject, 'kind')
  const wanted = subjectMembers[kind]
  if (wanted === undefined) {
    found.add(notSupported(fieldAt(at, 'kind'), kind, Object.keys(subjectMembers)))
    return
  }
  if (memberOf(subject, wanted) === undefined)
    found.add(required(fieldAt(at, wanted), `${wanted} is required when subject kind is '${kind}'`))
  for (const [other, name] of Object.entries(subjectMembers)) {
    if (name === wanted || memberOf(subject, name) === undefined) continue
    const words = `${name} is forbidden when subject kind is not '${other}'`
    found.add(fieldForbidden(fieldAt(at, name), words))
  }
}

export function checkAccount(account: JsonObject, at: Path | null, found: Findings): void {
  const [name, namespace] = [textMember(account, 'name'), textMember(account, 'namespace')]
  for (const wrong of name === '' || name === '*' ? [] : checkDns1123Subdomain(name))
    found.add(invalid(fieldAt(at, 'name'), name, wrong))
  const field = fieldAt(at, 'namespace')
  if (namespace === '') found.add(required(field, 'must specify namespace for service account'))
  else for (const wrong of checkDns1123Label(namespace)) found.add(invalid(field, namespace, wrong))
}

export function checkResourceRule(rule: JsonObject, at: Path | null, found: Findings): void {
  checkVerbs(rule, at, found)
  checkList(rule, 'apiGroups', at, 'resource rules must supply at least one api group', found)
  checkList(rule, 'resources', at, 'resource rules must supply at least one resource', found)
  const namespaces = textsMember(rule, 'namespaces')
  if (namespaces.length === 0 && memberOf(rule, 'clusterScope') === true) return
  const words = 'resource rules that are not cluster scoped must supply at least one namespace'
  checkList(rule, 'namespaces', at, words, found)
  if (namespaces.includes('*')) return
  for (const [index, namespace] of namespaces.entries()) {
    for (const wrong of checkDns1123Label(namespace)) {
      const intro = "each member of this list must be '*' or a DNS-1123 label; "
      found.add(invalid(fieldAt(at, 'namespaces', index), namespace, intro + wrong))
    }
  }
}

export function checkPathRule(rule: JsonObject, at: Path | null, found: Findings): void {
  checkVerbs(rule, at, found)
  checkList(rule, 'nonResourceURLs', at, 'nonResourceURLs must contain at least one value', found)
  const paths = textsMember(rule, 'nonResourceURLs')
  if (paths.includes('*')) return
  for (const [index, path] of paths.entries()) {
    const wrong = pathError(path)
    if (wrong !== null) found.add(invalid(fieldAt(at, 'nonResourceURLs', index), path, wrong))
  }
}

function checkVerbs(rule: JsonObject, at: Path | null, found: Findings): void {
  checkList(rule, 'verbs', at, 'verbs must contain at least one value', found)
  const verbs = textsMember(rule, 'verbs')
  if (verbs.includes('*') || verbs.every((verb) => knownVerbs.includes(verb))) return
  found.add(notSupported(fieldAt(at, 'verbs'), verbs, knownVerbs))
}

const nouns: { readonly [list: string]: string } = {
  ...{ verbs: 'verbs', apiGroups: 'api groups', resources: 'resources', namespaces: 'namespaces' },
  nonResourceURLs: 'non-resource URLs',
}

/** Checks a list that must not be empty, in which `*` must be alone. */
function checkList(rule: JsonObject, name: string, at: Path | null, words: string, found: Findings): void {
  const list = textsMember(rule, name)
  const field: FieldPlace = fieldAt(at, name)
  if (list.length === 0) found.add(required(field, words))
  if (list.length > 1 && list.includes('*'))
    found.add(invalid(field, list, `if '*' is present, must not specify other ${nouns[name] ?? name}`))
}

function pathError(path: string): string | null {
  if (path === '') return 'must not be empty'
  if (path === '/') return null
  if (!path.startsWith('/')) return 'must start with slash'
  if (path.includes(' ')) return 'must not contain white-space'
  if (path.includes('//')) return 'must not contain double slash'
  const star = path.indexOf('*')
  const isSuffix = star === path.length - 1 && path.endsWith('/*')
  return star === -1 || isSuffix ? null : 'wildcard can only do suffix matching'
}
