import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import { objectMember, textMember } from '../../api/json.ts'
import { limits } from '../../config/limits.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { keyOf } from '../../store/key.ts'
import type { ObjectStore, StoredObject, View } from '../../store/object-store.ts'
import type { BoundClaims, NamedObject, SecretClaims } from './claims.ts'
import type { VerifiedToken } from './verify-token.ts'

export type BoundObjectsDependencies = {
  readonly store: Pick<ObjectStore, 'view'>
  readonly clock: Pick<Clock, 'wallMs'>
  /** Whether the objects of Secret tokens are looked up. Those of bound tokens always are. */
  readonly looksUpSecretTokens: boolean
}

/**
 * Looks up the objects that a token depends on, in the state that this member has applied. Deleting
 * one revokes the token, and another one of the same name does not restore it, unless it is a
 * Secret that contains the token. Nothing is cached but the digest of the token in a version of a
 * Secret.
 *
 * @source spec 5; core `pkg/serviceaccount/claims.go`, `legacy.go`
 */
export class BoundObjects {
  readonly #dependencies: BoundObjectsDependencies
  readonly #digests = new WeakMap<StoredObject, Buffer>()

  constructor(dependencies: BoundObjectsDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Returns why a token is revoked. @returns null: it is not
   *
   * @throws StoreError there is no state to look at
   */
  revocation(token: VerifiedToken): string | null {
    const { claims } = token
    return claims.kind === 'secret' ? this.#ofSecret(claims, token.digest) : this.#ofBound(claims)
  }

  #ofBound({ namespace, account, pod, secret }: BoundClaims): string | null {
    const view = this.#dependencies.store.view()
    const exists = (plural: string, object: NamedObject): boolean =>
      this.#isUsable(stored(view, plural, namespace, object.name), object.uid)
    if (!exists('serviceaccounts', account)) return 'its service account was deleted'
    if (pod !== null && !exists('pods', pod)) return 'the Pod that it is bound to was deleted'
    if (secret !== null && !exists('secrets', secret)) return 'the Secret that it is bound to was deleted'
    return null
  }

  #ofSecret({ namespace, account, secretName }: SecretClaims, digest: Buffer): string | null {
    if (!this.#dependencies.looksUpSecretTokens) return null
    const view = this.#dependencies.store.view()
    const secret = stored(view, 'secrets', namespace, secretName)
    if (secret === null || secret.terminating) return 'its Secret was deleted'
    if (!timingSafeEqual(this.#digestOf(secret), digest)) return 'its Secret has another token'
    const found = stored(view, 'serviceaccounts', namespace, account.name)
    const isSame = found !== null && found.uid === account.uid && !found.terminating
    return isSame ? null : 'its service account was deleted'
  }

  /**
   * An object that is being deleted is usable until `tokenClockSkewMs` after its grace period ends.
   */
  #isUsable(object: StoredObject | null, uid: string): boolean {
    if (object === null || object.uid !== uid) return false
    if (!object.terminating) return true
    const deletedMs = Date.parse(parseStored(object).metadata.deletionTimestamp ?? '')
    return this.#dependencies.clock.wallMs() < deletedMs + limits.tokenClockSkewMs
  }

  #digestOf(secret: StoredObject): Buffer {
    let digest = this.#digests.get(secret)
    if (digest === undefined) {
      const token = Buffer.from(textMember(objectMember(parseStored(secret), 'data'), 'token'), 'base64')
      digest = createHash('sha256').update(token).digest()
      this.#digests.set(secret, digest)
    }
    return digest
  }
}

function stored(view: View, plural: string, namespace: string, name: string): StoredObject | null {
  return view.get(keyOf({ group: '', plural, namespace, name }))
}
