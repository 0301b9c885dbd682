import { isIPv4, isIPv6 } from 'node:net'
import { ConfigError } from './errors.ts'
import { custom } from './flag.ts'

/** Flags of the addresses and ports of Services, under upstream's names. */
export const serviceNetworkFlags = {
  'service-cluster-ip-range': custom<readonly string[]>({
    fallback: ['10.96.0.0/12'],
    placeholder: 'CIDR,…',
    help: 'Range of cluster IPs, or two of different families for dual-stack Services; the first one is the default family. The first address is that of the Service of the API server; the first one of each range is not picked for others. Use the same ranges on all members: a member with others assigns from them, but never an address that a Service has.',
    parse: (values) => checkRanges(values.flatMap((value) => value.split(','))),
  }),
  'service-node-port-range': custom<string>({
    fallback: '30000-32767',
    placeholder: 'FIRST-LAST',
    help: 'Range of node ports: first and last port, or first port and number of further ones (30000+100). Use the same range on all members.',
    parse: (values) => checkPorts(values.at(-1) ?? ''),
  }),
}

/** Bits of a range that addresses are assigned from, as upstream. */
const hostBits = { min: 3, max: 20 }

function checkRanges(given: readonly string[]): readonly string[] {
  const ranges = given.map((range) => range.trim())
  const families = new Set(ranges.map(checkRange))
  if (ranges.length > 2 || families.size < ranges.length)
    throw new ConfigError('must be one range, or one of IPv4 and one of IPv6')
  return ranges
}

/** @returns the family */
function checkRange(range: string): 4 | 6 {
  const match = /^([0-9a-fA-F:.]+)\/(0|[1-9][0-9]{0,2})$/.exec(range)
  const [address, length] = [match?.[1] ?? '', Number(match?.[2] ?? -1)]
  const family = isIPv4(address) ? 4 : isIPv6(address) ? 6 : null
  const width = family === 4 ? 32 : 128
  if (family === null || length > width || /^::ffff:/i.test(address))
    throw new ConfigError('must be one or two ranges such as 10.96.0.0/12 or 10.96.0.0/12,fd00::/108')
  const [shortest, longest] = [width - hostBits.max, width - hostBits.min]
  if (length < shortest || length > longest)
    throw new ConfigError(`an IPv${family} range must have a prefix of ${shortest} to ${longest} bits`)
  return family
}

/** @returns as `30000-32767` */
function checkPorts(given: string): string {
  const match = /^([0-9]{1,5})([-+])([0-9]{1,5})$/.exec(given.trim())
  const [first, second] = [Number(match?.[1] ?? 0), Number(match?.[3] ?? 0)]
  const last = match?.[2] === '+' ? first + second : second
  if (first < 1 || last < first || last > 65_535)
    throw new ConfigError('must be a range of ports from 1 to 65535, such as 30000-32767')
  return `${first}-${last}`
}
