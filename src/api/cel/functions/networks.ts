import type { CostRule, Sized } from '../cost/cost-rule.ts'
import { CHARACTER, sizeAt, traverse } from '../cost/cost-rule.ts'
import { ONE, ZERO, add, scale } from '../cost/range.ts'
import type { CelType } from '../types.ts'
import { celBool, celInt, celString } from '../types.ts'
import { CidrValue, IpValue, formatCidr, formatIp, parseCidr, parseIp } from '../values/ip-value.ts'
import type { CelValue } from '../values/value.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry, Outcome, Overload, Param } from './overload.ts'
import { call1, call2, method, slow } from './overload.ts'
import { aString } from './params.ts'

/** Steps of reading or writing an address. */
const PARSE_STEPS = 60
const ipType: CelType = { kind: 'opaque', name: IpValue.typeName }
const cidrType: CelType = { kind: 'opaque', name: CidrValue.typeName }
const anIp: Param<IpValue> = { type: ipType, is: (value) => value instanceof IpValue }
const aCidr: Param<CidrValue> = { type: cidrType, is: (value) => value instanceof CidrValue }

/**
 * Addresses and networks.
 *
 * @source apiserver `pkg/cel/library/ip.go`, `cidr.go`
 */
export const networks: readonly FunctionEntry[] = [
  [
    'isIP',
    slow(
      PARSE_STEPS,
      call1(aString, celBool, (text) => parseIp(text) instanceof IpValue, traverse(0)),
    ),
  ],
  [
    'ip',
    slow(
      PARSE_STEPS,
      call1(aString, ipType, (text) => valueOrFailure(parseIp(text)), traverse(0)),
    ),
    method(call1(aCidr, ipType, ({ ip }) => ip)),
  ],
  [
    'ip.isCanonical',
    call1(
      aString,
      celBool,
      (text, evaluation) => {
        evaluation.step(2 * PARSE_STEPS)
        const ip = parseIp(text)
        return typeof ip === 'string' ? new CelFailure(ip) : formatIp(ip) === text
      },
      traverse(0, 2),
    ),
  ],
  ['family', method(call1(anIp, celInt, ({ family }) => BigInt(family)))],
  ['isUnspecified', property(isUnspecified)],
  ['isLoopback', property(isLoopback)],
  ['isLinkLocalMulticast', property(isLinkLocalMulticast)],
  ['isLinkLocalUnicast', property(isLinkLocalUnicast)],
  ['isGlobalUnicast', property(isGlobalUnicast)],
  [
    'string',
    slow(PARSE_STEPS, call1(anIp, celString, formatIp)),
    slow(PARSE_STEPS, call1(aCidr, celString, formatCidr)),
  ],
  [
    'isCIDR',
    slow(
      PARSE_STEPS,
      call1(aString, celBool, (text) => parseCidr(text) instanceof CidrValue, traverse(0)),
    ),
  ],
  [
    'cidr',
    slow(
      PARSE_STEPS,
      call1(aString, cidrType, (text) => valueOrFailure(parseCidr(text)), traverse(0)),
    ),
  ],
  [
    'containsIP',
    method(call2(aCidr, anIp, celBool, (cidr, ip) => cidr.contains(ip), containment(false, false))),
    method(
      call2(
        aCidr,
        aString,
        celBool,
        (cidr, text, evaluation) => {
          evaluation.step(PARSE_STEPS)
          const ip = parseIp(text)
          return typeof ip === 'string' ? new CelFailure(ip) : cidr.contains(ip)
        },
        containment(false, true),
      ),
    ),
  ],
  [
    'containsCIDR',
    method(call2(aCidr, aCidr, celBool, containsCidr, containment(true, false))),
    method(
      call2(
        aCidr,
        aString,
        celBool,
        (cidr, text, evaluation) => {
          evaluation.step(PARSE_STEPS)
          const other = parseCidr(text)
          return typeof other === 'string' ? new CelFailure(other) : containsCidr(cidr, other)
        },
        containment(true, true),
      ),
    ),
  ],
  [
    'masked',
    method(call1(aCidr, cidrType, (cidr) => new CidrValue(cidr.masked(cidr.ip), cidr.prefixLength))),
  ],
  ['prefixLength', method(call1(aCidr, celInt, ({ prefixLength }) => BigInt(prefixLength)))],
]

function valueOrFailure(parsed: IpValue | CidrValue | string): Outcome {
  return typeof parsed === 'string' ? new CelFailure(parsed) : parsed
}

function property(decide: (ip: IpValue) => boolean): Overload {
  return method(call1(anIp, celBool, decide))
}

function isUnspecified({ bits }: IpValue): boolean {
  return bits === 0n
}

function isLoopback({ family, bits }: IpValue): boolean {
  return family === 4 ? bits >> 24n === 127n : bits === 1n
}

function isLinkLocalMulticast({ family, bits }: IpValue): boolean {
  // 224.0.0.0/24; ff02::/16 whatever its flags.
  return family === 4 ? bits >> 8n === 0xe00000n : ((bits >> 112n) & 0xff0fn) === 0xff02n
}

function isLinkLocalUnicast({ family, bits }: IpValue): boolean {
  // 169.254.0.0/16; fe80::/10.
  return family === 4 ? bits >> 16n === 0xa9fen : bits >> 118n === 0x3fan
}

function isMulticast({ family, bits }: IpValue): boolean {
  return family === 4 ? bits >> 28n === 0xen : bits >> 120n === 0xffn
}

function isGlobalUnicast(ip: IpValue): boolean {
  if (ip.family === 4 && ip.bits === 0xffffffffn) return false
  return !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip)
}

function containsCidr(cidr: CidrValue, other: CidrValue): boolean {
  return cidr.prefixLength <= other.prefixLength && cidr.contains(other.ip)
}

/**
 * Returns the cost of comparing the bytes of two addresses.
 *
 * @param isCidr adds the cost of masking a network
 * @param isText adds the cost of reading a text
 */
function containment(isCidr: boolean, isText: boolean): CostRule {
  return {
    actual: ([cidr, other], _, evaluation) => {
      const bytes = prefixBytes(cidr)
      const text = isText && typeof other === 'string' ? evaluation.textSize(other) : 0
      const masking = isCidr ? Math.ceil(bytes * CHARACTER) + 1 : 0
      return Math.ceil(2 * bytes * CHARACTER) + masking + Math.ceil(text * CHARACTER)
    },
    estimate: (args: readonly Sized[]) => {
      const bytes = { min: 4, max: 16 }
      const text = isText ? scale(sizeAt(args, 1), CHARACTER) : ZERO
      const masking = isCidr ? add(scale(bytes, CHARACTER), ONE) : ZERO
      return { cost: add(scale(add(bytes, bytes), CHARACTER), masking, text) }
    },
  }
}

function prefixBytes(cidr: CelValue | undefined): number {
  return cidr instanceof CidrValue ? Math.ceil(cidr.prefixLength / 8) : 0
}
