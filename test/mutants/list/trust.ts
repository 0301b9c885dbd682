import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/**
 * Input of peers and clients: no message of a peer reaches an assertion or counts as that of
 * another peer, and credentials are verified.
 */
export const trustMutants: readonly Mutant[] = [
  {
    id: 'acknowledgement-beyond-the-log',
    file: 'raft/core/violation.ts',
    edits: [{ find: 'return index <= log.lastIndex', replace: 'return index >= 0' }],
    breaks: 'a peer ends the leader by accepting an entry that does not exist',
    standsFor: 'input of peers reaches an assertion',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'second-leader-of-a-term-is-accepted',
    file: 'raft/core/violation.ts',
    edits: [
      {
        find: 'if (term > state.term || state.leader === null || state.leader === from) return null',
        replace: 'if (state.term >= 0) return null',
      },
    ],
    breaks: 'a peer that claims to lead the term of a leader ends that leader',
    standsFor: 'Raft paper figure 3, election safety',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'committed-entries-may-be-contradicted',
    file: 'raft/core/violation.ts',
    edits: [
      { find: 'if (known === null || known === term) return null', replace: 'if (index >= 0) return null' },
    ],
    breaks: 'a leader with another history is followed',
    standsFor: 'Raft paper figure 3, leader completeness',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'terms-may-skip-to-the-end',
    file: 'raft/core/violation.ts',
    edits: [
      { find: 'term <= Math.max(state.term, state.termMax)', replace: 'term <= Number.MAX_SAFE_INTEGER' },
    ],
    breaks: 'one message uses up all terms, and no member can be elected again',
    standsFor: 'input of peers is bounded',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'terms-may-skip-a-little',
    file: 'raft/core/violation.ts',
    edits: [{ find: 'Math.max(state.term, state.termMax)', replace: 'state.term + 2 ** 26' }],
    breaks: 'a member that was away while a peer raised the terms can never come back',
    standsFor: 'a peer blocks no other peer for ever',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'reads-confirmed-by-anybody',
    file: 'raft/driver/read-relay.ts',
    edits: [{ find: 'if (sent.leader !== message.from) return', replace: 'if (sent.leader === 0) return' }],
    breaks: 'a read is confirmed by a member that did not receive the request',
    standsFor: 'Raft thesis §6.4, only the leader confirms reads',
    invariant: 'I16',
    killedBy: tests('unit/raft/driver/relays'),
  },
  {
    id: 'poison-is-proposed',
    file: 'raft/driver/proposal-relay.ts',
    edits: [{ find: 'if (batch.from === null) return batch', replace: 'if (batch.term >= 0) return batch' }],
    breaks: 'a command is committed that no member can apply',
    standsFor: 'input of peers is checked before it is committed',
    invariant: 'I4',
    killedBy: tests('unit/raft/driver/relays'),
  },
  {
    id: 'poison-ends-every-member',
    file: 'src/store/machine/machine.ts',
    edits: [{ find: 'if (skips && cause instanceof MalformedCommandError) return null', replace: '' }],
    breaks: 'one entry that no member can decode ends every member, at each start',
    standsFor: 'etcd corruption of 2022, a committed entry that applies differently',
    invariant: 'I4',
    killedBy: tests('unit/src/store/machine/feature-level'),
  },
  {
    id: 'silent-connections-stay',
    file: 'raft/transport/peer-port.ts',
    edits: [
      {
        find: "reason: 'no-handshake', remote, detail })\n      socket.destroy()",
        replace: "reason: 'no-handshake', remote, detail })",
      },
    ],
    breaks: 'silent connections keep members out for two minutes',
    standsFor: 'connections without a certificate use up no places',
    invariant: 'L1',
    killedBy: tests('unit/raft/transport/peer-port'),
  },
  {
    id: 'refusals-of-anybody',
    file: 'raft/driver/proposal-relay.ts',
    edits: [{ find: 'if (leader !== message.from) return', replace: 'if (leader === 0) return' }],
    breaks: 'a member reports a write that may be committed as without effect',
    standsFor: 'an outcome is only reported by a member that knows it',
    invariant: 'I17',
    killedBy: tests('unit/raft/driver/relays'),
  },
  ...(
    [
      {
        id: 'usage-of-a-certificate-not-checked',
        edits: [
          {
            find: 'if (extendedUsages === null || extendedUsages.includes(wanted)) return null',
            replace: 'if (wanted !== anyUsage) return null',
          },
        ],
        breaks: 'a certificate of a server authenticates a client',
      },
      {
        id: 'expired-certificates-are-trusted',
        edits: [{ find: "nowMs > notAfterMs ? 'has expired' : null", replace: 'null' }],
        breaks: 'a client with an expired certificate is accepted',
      },
      {
        id: 'certificates-are-trusted-too-early',
        edits: [{ find: 'if (nowMs < notBeforeMs)', replace: 'if (nowMs < 0)' }],
        breaks: 'a certificate is accepted before it is valid',
      },
      {
        id: 'anybody-may-issue-certificates',
        edits: [{ find: 'if (!isAuthority)', replace: 'if (!isAuthority && between < 0)' }],
        breaks: 'a client certificate can issue certificates',
      },
      {
        id: 'path-lengths-not-checked',
        edits: [
          {
            find: 'pathLengthMax !== null && between > pathLengthMax',
            replace: 'pathLengthMax !== null && between < 0',
          },
        ],
        breaks: 'an authority with a path length limit of 0 issues further authorities',
      },
      {
        id: 'name-constraints-are-ignored',
        edits: [{ find: 'return extensions.has(nameConstraints) ?', replace: "return extensions.has('') ?" }],
        breaks: 'a name-constrained authority issues certificates for all names',
      },
      {
        id: 'signatures-of-certificates-not-verified',
        edits: [{ find: 'return child.x509.verify(issuer.publicKey)', replace: 'return true' }],
        breaks: 'certificates are accepted by the name of their issuer, without its signature',
      },
    ] as const
  ).map((mutant): Mutant => ({
    ...mutant,
    file: 'src/pki/verify-chain.ts',
    standsFor: 'RFC 5280 section 6.1',
    invariant: 'I14',
    killedBy: tests('unit/src/pki/verify-chain'),
  })),
  {
    id: 'bundle-that-was-replaced-stays-in-force',
    file: 'src/auth/trust-store.ts',
    edits: [
      {
        find: 'this.#bundles = bundles\n  }\n}',
        replace: 'this.#bundles = bundles === null ? bundles : this.#bundles\n  }\n}',
      },
    ],
    breaks: 'certificates of an authority that was removed from the bundle are accepted',
    standsFor: 'only the current bundle is trusted',
    invariant: 'I14',
    killedBy: tests('unit/src/auth/client-certificate'),
  },
  {
    id: 'lost-permission-keeps-its-watches',
    file: 'src/server/revocation.ts',
    edits: [
      {
        find: 'if (dependencies.accessVersion() !== this.#checkedVersion) this.check()',
        replace: 'if (dependencies.accessVersion() < this.#checkedVersion) this.check()',
      },
    ],
    breaks: 'a user whose binding was deleted still receives all changes by an open watch',
    standsFor: 'a withdrawn permission ends within a second',
    invariant: 'I14',
    killedBy: tests('unit/src/server/revocation'),
  },
  {
    id: 'headers-of-clients-are-trusted',
    file: 'src/auth/front-proxy.ts',
    edits: [{ find: "clock, trust, 'front-proxy')", replace: "clock, trust, 'client')" }],
    breaks: 'a client names its user in a header',
    standsFor: 'spec 5.3, headers count only with the certificate of a proxy',
    invariant: 'I14',
    killedBy: tests('integration/auth-front-proxy'),
  },
  {
    id: 'every-name-of-a-proxy-is-allowed',
    file: 'src/auth/front-proxy.ts',
    edits: [{ find: 'names.allowedNames.length > 0', replace: 'names.allowedNames.length > 9' }],
    breaks: 'a certificate of the authority for proxies is trusted whatever its common name is',
    standsFor: 'spec 5.3, allowed names',
    invariant: 'I14',
    killedBy: tests('integration/auth-front-proxy'),
  },
  {
    id: 'authority-of-proxies-is-trusted-for-clients',
    file: 'src/auth/client-certificate.ts',
    edits: [{ find: "clock, trust, 'client')", replace: "clock, trust, 'front-proxy')" }],
    breaks: 'a proxy is a client with the groups of its certificate',
    standsFor: 'each purpose has authorities of its own',
    invariant: 'I14',
    killedBy: tests('unit/src/auth/client-certificate'),
  },
  {
    id: 'token-for-other-audiences-is-accepted',
    file: 'src/auth/webhook/token-webhook.ts',
    edits: [{ find: 'wanted.length > 0 && audiences.length === 0', replace: 'audiences.length < 0' }],
    breaks: 'a token for another service authenticates at this server',
    standsFor: 'spec 5.2, audiences',
    invariant: 'I14',
    killedBy: tests('integration/auth-token-webhook'),
  },
  {
    id: 'identity-token-of-another-client-is-accepted',
    file: 'src/auth/oidc/oidc.ts',
    edits: [{ find: 'audience: clientId, ', replace: '' }],
    breaks: 'a token that the provider issued to another service authenticates at this server',
    standsFor: 'OpenID Connect Core 1.0 section 3.1.3.7',
    invariant: 'I14',
    killedBy: tests('integration/auth-oidc', 'a wrong issuer, audience'),
  },
  {
    id: 'required-claims-are-not-compared',
    file: 'src/auth/oidc/oidc-user.ts',
    edits: [{ find: 'payload[name] !== value', replace: 'payload[name] === undefined' }],
    breaks: 'a token with another value of a required claim authenticates',
    standsFor: 'spec 5.1, required claims',
    invariant: 'I14',
    killedBy: tests('integration/auth-oidc', 'the claim flags decide'),
  },
]
