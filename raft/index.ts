/**
 * The public interface of the Raft library. Code outside `raft/` imports only this file of it.
 * Tests, fixtures and benchmarks may import others.
 */
export type {
  Configuration,
  Entry,
  HardState,
  LogIndex,
  MemberInfo,
  MemberRole,
  NodeId,
  SnapshotMeta,
  Term,
} from './core/types.ts'
export {
  emptyConfiguration,
  entryBytes,
  logIndex,
  nodeId,
  noIndex,
  noSnapshot,
  noTerm,
  term,
} from './core/types.ts'
export type { ChangeRefusal, MemberChange, NewMember } from './core/member-change.ts'
export { planChange } from './core/member-change.ts'
export { featureLevelsMax, memberTextBytesMax, membersMax, votersMax } from './core/config.ts'
export type { CoreStatus, FollowerStatus, Role } from './core/ready.ts'
export type {
  Channel,
  LogDisk,
  LogFile,
  LogStore,
  PeerIdentity,
  PeerMessage,
  PeerVerdict,
  ProposalId,
  RecoveredLog,
  SettledProposal,
  SnapshotHeader,
  SnapshotSink,
  SnapshotSource,
  StateMachine,
  Transport,
  TransportReceiver,
} from './ports.ts'
export { reportBytesMax } from './ports.ts'
export type {
  Consensus,
  ConsensusErrorCode,
  ConsensusStatus,
  ProposalResult,
  Freshness,
  LeaseRead,
  MembershipPort,
  MembersChanged,
  PeerReport,
  ReadPort,
} from './consensus.ts'
export { ConsensusError, MembershipError } from './protocol/node-errors.ts'
export type { Envelope } from './protocol/envelope.ts'
export { decodeEnvelope, encodeEnvelope, envelopeBytes } from './protocol/envelope.ts'
export type { Joining, MemberList, NodeLimits, NodeOptions, NodeTiming } from './protocol/node-options.ts'
export {
  defaultLimits,
  defaultTiming,
  initialConfiguration,
  quietHeartbeats,
} from './protocol/node-options.ts'
export type { NodeLoad } from './node/node-load.ts'
export type { RecoveredSummary } from './node/recovered-summary.ts'
export type { RaftNodeOptions } from './node/raft-node-options.ts'
export { RaftNode } from './node/node.ts'
export type { Measured } from './protocol/measured.ts'
export { MemoryClusterRecord } from './protocol/founding.ts'
export type { ClusterRecord, ClusterRecordStore, PeerLog } from './protocol/founding.ts'
export { MemoryPeerBook } from './protocol/peer-log-ids.ts'
export type { PeerBook } from './protocol/peer-log-ids.ts'
export type { InlineNodeOptions } from './threads/inline.ts'
export { inlineNode } from './threads/inline.ts'
export type { ThreadHost } from './threads/thread-host.ts'
export type { ThreadedNodeOptions } from './threads/threads.ts'
export { StartedThreads, threadedNode } from './threads/threads.ts'
export { FileDisk } from './log/file-disk.ts'
export { MemoryLog } from './log/memory-log.ts'
export { Wal } from './log/wal.ts'
export { LogError } from './log/errors.ts'
export { segmentNumber } from './log/layout.ts'
export { TransportError } from './transport/errors.ts'
export type { TransportEvent } from './transport/events.ts'
// Only types: the raft thread loads gRPC, and only if there are peers.
export type { GrpcTransport, GrpcTransportOptions } from './transport/grpc-transport.ts'
export type { PeerCredentials } from './transport/peer-identity.ts'
export { MemoryNetwork, MemoryTransport } from './transport/memory-transport.ts'
export type { TransportLimits } from './transport/options.ts'
export { defaultTransportLimits } from './transport/options.ts'
