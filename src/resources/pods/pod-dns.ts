import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectMember, textMember, textsMember } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { listOf, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { checkIpAddress } from '../common/ip-address.ts'

/** The DNS settings of a Pod. */

const podDNSConfigOptionSchema = struct(
  'core.v1.PodDNSConfigOption',
  'A DNS resolver option.',
  { name: text(1, 'Name of the option.'), value: text(2, 'Its value.', { optional: true }) },
  {
    check: (option, at, found) => {
      if (textMember(option, 'name') === '') found.add(required(fieldAt(at, 'name')))
    },
  },
)

/** The limit of most resolvers. */
const NAMESERVERS_MAX = 3
const SEARCHES_MAX = 6
const SEARCHES_LENGTH_MAX = 256

export const podDNSConfigSchema = struct(
  'core.v1.PodDNSConfig',
  'DNS settings that are added to those of the DNS policy.',
  {
    nameservers: texts(1, 'IP addresses of name servers, at most 3.'),
    searches: texts(2, 'Search domains for short names, at most 6.'),
    options: listOf(3, podDNSConfigOptionSchema, 'Resolver options.'),
  },
  { check: checkConfig },
)

export const hostAliasSchema = struct(
  'core.v1.HostAlias',
  'An entry of the hosts file of a Pod.',
  {
    ip: text(1, 'IP address.'),
    hostnames: texts(2, 'Host names of the address.'),
  },
  { check: checkAlias },
)

/** With policy None, name servers must be given in dnsConfig. @param at the spec of the Pod */
export function checkDnsPolicy(spec: JsonObject, at: Path | null, found: Findings): void {
  if (textMember(spec, 'dnsPolicy') !== 'None') return
  const words = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
  if (!Object.hasOwn(spec, 'dnsConfig')) {
    found.add(required(fieldAt(at, 'dnsConfig'), 'must provide `dnsConfig` when `dnsPolicy` is None'))
    return
  }
  const nameservers = textsMember(objectMember(spec, 'dnsConfig'), 'nameservers')
  if (nameservers.length <= 0) found.add(required(fieldAt(at, 'dnsConfig', 'nameservers'), words))
}

/** @source core `pkg/apis/core/validation`, validatePodDNSConfig */
function checkConfig(config: JsonObject, at: Path | null, found: Findings): void {
  const [nameservers, searches] = [textsMember(config, 'nameservers'), textsMember(config, 'searches')]
  if (nameservers.length > NAMESERVERS_MAX) {
    const words = `must not have more than ${NAMESERVERS_MAX} nameservers`
    found.add(invalid(fieldAt(at, 'nameservers'), nameservers, words))
  }
  nameservers.forEach((address, index) => {
    for (const words of checkIpAddress(address)) {
      found.add(invalid(fieldAt(at, 'nameservers', index), address, words))
    }
  })
  if (searches.length > SEARCHES_MAX) {
    const words = `must not have more than ${SEARCHES_MAX} search paths`
    found.add(invalid(fieldAt(at, 'searches'), searches, words))
  }
  if (searches.join(' ').length > SEARCHES_LENGTH_MAX) {
    const words = `must not have more than ${SEARCHES_LENGTH_MAX} characters (including spaces) in the search list`
    found.add(invalid(fieldAt(at, 'searches'), searches, words))
  }
  searches.forEach((search, index) => {
    const name = search.endsWith('.') ? search.slice(0, -1) : search
    for (const words of checkDns1123Subdomain(name)) {
      found.add(invalid(fieldAt(at, 'searches', index), search, words))
    }
  })
}

function checkAlias(alias: JsonObject, at: Path | null, found: Findings): void {
  const ip = textMember(alias, 'ip')
  for (const words of checkIpAddress(ip)) found.add(invalid(fieldAt(at, 'ip'), ip, words))
  textsMember(alias, 'hostnames').forEach((name, index) => {
    for (const words of checkDns1123Subdomain(name)) {
      found.add(invalid(fieldAt(at, 'hostnames', index), name, words))
    }
  })
}
