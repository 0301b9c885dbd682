import { isJsonObject, memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { serviceAccountName } from '../user.ts'

/** An object that a token depends on. */
export type NamedObject = { readonly name: string; readonly uid: string }

/** The claims of a token that is valid for a time, while all objects that it names exist. */
export type BoundClaims = {
  readonly kind: 'bound'
  readonly audiences: readonly string[]
  readonly namespace: string
  readonly account: NamedObject
  /** null: not bound to a Pod. */
  readonly pod: NamedObject | null
  /** null: not bound to a Secret. */
  readonly secret: NamedObject | null
  /** Wall-clock ms since 1970. */
  readonly issuedMs: number
  readonly notBeforeMs: number
  readonly expiresMs: number
  /** When the holder should have renewed the token. null: at its expiry. */
  readonly warnAfterMs: number | null
}

/**
 * The claims of a token that is stored in a Secret, and valid as long as the Secret contains it.
 */
export type SecretClaims = {
  readonly kind: 'secret'
  readonly namespace: string
  readonly account: NamedObject
  readonly secretName: string
}

export type TokenClaims = BoundClaims | SecretClaims

/**
 * Returns the claims of a payload.
 *
 * @returns null: a required claim is missing or has another type, or the subject is another account
 * @source core `pkg/serviceaccount/claims.go`, `legacy.go`
 */
export function readClaims(payload: JsonObject, names: Names): TokenClaims | null {
  const isOfSecret = textMember(payload, 'iss') === names.secretTokenIssuer
  const claims = isOfSecret ? readSecretClaims(payload, names) : readBoundClaims(payload, names)
  if (claims === null) return null
  const { namespace, account } = claims
  return textMember(payload, 'sub') === serviceAccountName(namespace, account.name) ? claims : null
}

/** Returns the payload of a bound token. */
export function boundPayload(claims: BoundClaims, issuer: string, names: Names): JsonObject {
  const { namespace, account, pod, secret, warnAfterMs } = claims
  return {
    aud: claims.audiences,
    exp: secondsOf(claims.expiresMs),
    iat: secondsOf(claims.issuedMs),
    iss: issuer,
    [names.tokenClaim]: {
      namespace,
      ...(pod === null ? {} : { pod }),
      ...(secret === null ? {} : { secret }),
      serviceaccount: account,
      ...(warnAfterMs === null ? {} : { warnafter: secondsOf(warnAfterMs) }),
    },
    nbf: secondsOf(claims.notBeforeMs),
    sub: serviceAccountName(namespace, account.name),
  }
}

/** Returns the payload of a token that is stored in a Secret. */
export function secretPayload({ namespace, account, secretName }: SecretClaims, names: Names): JsonObject {
  const claim = secretClaimsOf(names)
  return {
    iss: names.secretTokenIssuer,
    [claim.namespace]: namespace,
    [claim.secretName]: secretName,
    [claim.accountName]: account.name,
    [claim.accountUid]: account.uid,
    sub: serviceAccountName(namespace, account.name),
  }
}

function readSecretClaims(payload: JsonObject, names: Names): SecretClaims | null {
  const claim = secretClaimsOf(names)
  const namespace = textMember(payload, claim.namespace)
  const secretName = textMember(payload, claim.secretName)
  const account = { name: textMember(payload, claim.accountName), uid: textMember(payload, claim.accountUid) }
  if (!isName(namespace) || !isName(secretName) || !isObject(account)) return null
  return { kind: 'secret', namespace, account, secretName }
}

function readBoundClaims(payload: JsonObject, names: Names): BoundClaims | null {
  const own = objectMember(payload, names.tokenClaim)
  const namespace = textMember(own, 'namespace')
  const account = readObject(own, 'serviceaccount')
  const pod = readObject(own, 'pod')
  const secret = readObject(own, 'secret')
  const [issuedMs, notBeforeMs, expiresMs] = ['iat', 'nbf', 'exp'].map((name) => msOf(payload, name))
  const audiences = audiencesOf(payload)
  if (!isName(namespace) || account === null || account === 'malformed') return null
  if (pod === 'malformed' || secret === 'malformed' || audiences.length === 0) return null
  // Without an expiry a token could only be revoked by deleting its account.
  if (expiresMs === undefined || expiresMs === null) return null
  return {
    kind: 'bound',
    ...{ audiences, namespace, account, pod, secret, expiresMs },
    issuedMs: issuedMs ?? 0,
    notBeforeMs: notBeforeMs ?? 0,
    warnAfterMs: msOf(own, 'warnafter'),
  }
}

function secretClaimsOf(names: Names) {
  const claim = (name: string): string => names.label(`serviceaccount/${name}`)
  return {
    namespace: claim('namespace'),
    secretName: claim('secret.name'),
    accountName: claim('service-account.name'),
    accountUid: claim('service-account.uid'),
  }
}

function audiencesOf(payload: JsonObject): readonly string[] {
  const one = textMember(payload, 'aud')
  return one === '' ? textsMember(payload, 'aud') : [one]
}

function readObject(of: JsonObject, name: string): NamedObject | null | 'malformed' {
  const value = memberOf(of, name)
  if (value === undefined || value === null) return null
  if (!isJsonObject(value)) return 'malformed'
  const object = { name: textMember(value, 'name'), uid: textMember(value, 'uid') }
  return isObject(object) ? object : 'malformed'
}

function isObject({ name, uid }: NamedObject): boolean {
  return isName(name) && uid !== ''
}

/** A name is part of a key of the store, so it has no slash. */
function isName(name: string): boolean {
  return name !== '' && !name.includes('/')
}

function msOf(of: JsonObject, name: string): number | null {
  const value = memberOf(of, name)
  return typeof value === 'number' ? value * 1000 : null
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000)
}
