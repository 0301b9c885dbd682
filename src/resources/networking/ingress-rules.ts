import { isIP } from 'node:net'
import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, textMember, textsMember } from '../../api/json.ts'
import { checkDns1035Label, checkDns1123Subdomain, checkPortName } from '../../api/metadata/name-rules.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { checkPortNumber } from '../containers/port.ts'

/** @source upstream `pkg/apis/networking/validation`, validateIngressBackend */
export function checkBackend(backend: JsonObject, at: Path | null, found: Findings): void {
  const [service, resource] = [memberOf(backend, 'service'), memberOf(backend, 'resource')]
  if (service !== undefined && resource !== undefined) {
    found.add(invalid(spellPath(at), '', 'cannot set both resource and service backends'))
    return
  }
  if (service !== undefined) checkServiceBackend(objectMember(backend, 'service'), at, found)
  else if (resource === undefined)
    found.add(invalid(spellPath(at), '', 'resource or service backend is required'))
}

function checkServiceBackend(service: JsonObject, at: Path | null, found: Findings): void {
  const field = (...steps: readonly string[]): string => fieldAt(at, 'service', ...steps)
  const name = textMember(service, 'name')
  if (name === '') found.add(required(field('name')))
  else for (const words of checkDns1035Label(name)) found.add(invalid(field('name'), name, words))
  const port = objectMember(service, 'port')
  const [portName, number] = [textMember(port, 'name'), numberMember(port, 'number') ?? 0]
  if (portName !== '' && number !== 0)
    found.add(invalid(spellPath(at), '', 'cannot set both port name & port number'))
  else if (portName !== '') {
    for (const words of checkPortName(portName)) found.add(invalid(field('port', 'name'), portName, words))
  } else if (number !== 0) {
    for (const words of checkPortNumber(number)) found.add(invalid(field('port', 'number'), number, words))
  } else found.add(required(spellPath(at), 'port name or number is required'))
}

const SEQUENCES = ['//', '/./', '/../', '%2f', '%2F']
const SUFFIXES = ['/..', '/.']

/** @source upstream `pkg/apis/networking/validation`, validateHTTPIngressPath */
export function checkHttpPath(value: JsonObject, at: Path | null, found: Findings): void {
  const [path, type] = [textMember(value, 'path'), memberOf(value, 'pathType')]
  const field = fieldAt(at, 'path')
  if (type === null || type === undefined || type === '')
    found.add(required(fieldAt(at, 'pathType'), 'pathType must be specified'))
  const isExact = type === 'Exact' || type === 'Prefix'
  if (!path.startsWith('/') && (isExact || path !== ''))
    found.add(invalid(field, path, 'must be an absolute path'))
  if (!isExact) return
  for (const part of SEQUENCES.filter((one) => path.includes(one)))
    found.add(invalid(field, path, `must not contain '${part}'`))
  for (const part of SUFFIXES.filter((one) => path.endsWith(one)))
    found.add(invalid(field, path, `cannot end with '${part}'`))
}

/** @source upstream `pkg/apis/networking/validation`, validateIngressRules */
export function checkHost(rule: JsonObject, at: Path | null, found: Findings): void {
  const host = textMember(rule, 'host')
  if (host === '') return
  if (isIP(host) !== 0) found.add(invalid(fieldAt(at, 'host'), host, 'must be a DNS name, not an IP address'))
  for (const words of hostErrors(host)) found.add(invalid(fieldAt(at, 'host'), host, words))
}

/** @source upstream `pkg/apis/networking/validation`, validateIngressTLS */
export function checkTls(tls: JsonObject, at: Path | null, found: Findings): void {
  for (const [index, host] of textsMember(tls, 'hosts').entries()) {
    for (const words of hostErrors(host)) found.add(invalid(fieldAt(at, 'hosts', index), host, words))
    if (found.isFull) return
  }
}

const WILDCARD = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const WILDCARD_WORDS =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must " +
  "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character " +
  "(e.g. '*.example.com', regex used for validation is " +
  "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

function hostErrors(host: string): readonly string[] {
  if (!host.includes('*')) return checkDns1123Subdomain(host)
  if (host.length > 253) return ['must be no more than 253 characters']
  return WILDCARD.test(host) ? [] : [WILDCARD_WORDS]
}
