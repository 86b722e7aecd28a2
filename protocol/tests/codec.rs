//! Tests of the generated codecs. Encoded values must decode to the same values. Random bytes may
//! decode or fail, but decoders never panic, and never allocate more memory than the number of
//! received bytes requires.

use proptest::prelude::*;
use virtio_cuda_protocol::calls::*;
use virtio_cuda_protocol::codec::{
    Answer, Array, Call, DecodeError, Element, Names, Reader, Writer,
};
use virtio_cuda_protocol::facts::DeviceFacts;
use virtio_cuda_protocol::ids::{BlobId, FuncId, ModuleId, StreamId};
use virtio_cuda_protocol::limits::{JIT_OPTIONS_MAX, LAUNCH_ATTRIBUTES_MAX};
use virtio_cuda_protocol::structs::*;

fn encoded<'a, C: Call<'a>>(call: &C) -> Vec<u8> {
    let mut writer = Writer::new();
    call.encode(&mut writer);
    writer.as_bytes().to_vec()
}

fn answer_comes_back<A: Answer + PartialEq + std::fmt::Debug>(answer: A) {
    let mut writer = Writer::new();
    answer.encode(&mut writer);
    assert_eq!(A::decode(writer.as_bytes()).as_ref(), Ok(&answer));
    let longer = [writer.as_bytes(), &[0; 8]].concat();
    assert_eq!(A::decode(&longer), Err(DecodeError::Long));
}

fn launch<'a>(params: &'a [u8], attributes: Array<'a, LaunchAttribute>) -> VcudaLaunch<'a> {
    VcudaLaunch {
        f: FuncId(17),
        grid_x: 1,
        grid_y: 2,
        grid_z: 3,
        block_x: 4,
        block_y: 5,
        block_z: 6,
        shared_mem_bytes: 7,
        h_stream: StreamId(500),
        params,
        attributes,
    }
}

proptest! {
    #[test]
    fn launches_decode_as_encoded(
        params in prop::collection::vec(any::<u8>(), 0..200),
        ids in prop::collection::vec((any::<u32>(), any::<[u64; 8]>()), 0..LAUNCH_ATTRIBUTES_MAX),
    ) {
        let list: Vec<_> =
            ids.into_iter().map(|(id, value)| LaunchAttribute { id, value }).collect();
        let call = launch(&params, (&list).into());
        let bytes = encoded(&call);
        prop_assert_eq!(VcudaLaunch::decode(&bytes), Ok(call));
        for cut in (0..bytes.len()).step_by(8) {
            prop_assert!(VcudaLaunch::decode(&bytes[..cut]).is_err());
        }
        let longer = [&bytes[..], &[0; 8]].concat();
        prop_assert_eq!(VcudaLaunch::decode(&longer), Err(DecodeError::Long));
    }

    #[test]
    fn answers_decode_as_encoded(
        places in prop::collection::vec((any::<u64>(), any::<u64>()), 0..100),
        known in any::<[u64; 4]>(),
        logs in any::<(Vec<u8>, Vec<u8>)>(),
    ) {
        let place = |(offset, size)| ParameterPlace { offset, size };
        let layout = places.into_iter().map(place).collect();
        let attributes = vec![];
        answer_comes_back(VcudaModuleGetFunctionAnswer { layout, attributes });
        let devices = vec![DeviceFacts { known, total_memory: 5, ..DeviceFacts::ZERO }; 2];
        answer_comes_back(VcudaFactsAnswer { driver_version: 13000, devices });
        answer_comes_back(VcudaModuleLoadAnswer { error: logs.0, info: logs.1 });
    }

    #[test]
    fn random_bytes_never_panic(words in prop::collection::vec(any::<u64>(), 0..64)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let _ = VcudaLaunch::decode(&bytes);
        let _ = VcudaModuleLoad::decode(&bytes);
        let _ = VcudaLibraryLoad::decode(&bytes);
        let _ = VcudaGraphExecNodeSet::decode(&bytes);
        let _ = VcudaFactsAnswer::decode(&bytes);
        let _ = VcudaModuleGetFunctionAnswer::decode(&bytes);
        let _ = VcudaLibraryKernelNamesAnswer::decode(&bytes);
        let _ = Step::decode(&mut Reader::new(&bytes));
    }
}

#[test]
fn an_array_longer_than_its_limit_is_refused() {
    let attribute = LaunchAttribute { id: 4, value: [0; 8] };
    for (count, good) in [(LAUNCH_ATTRIBUTES_MAX, true), (LAUNCH_ATTRIBUTES_MAX + 1, false)] {
        let list = vec![attribute; count];
        let bytes = encoded(&launch(&[], (&list).into()));
        assert_eq!(VcudaLaunch::decode(&bytes).is_ok(), good);
    }
    let options = vec![JitOption { option: 0, value: 0 }; JIT_OPTIONS_MAX + 1];
    let load = VcudaModuleLoad {
        module: ModuleId(1),
        blob: BlobId::INLINE,
        image: &[],
        options: (&options).into(),
        log_max: 0,
    };
    assert_eq!(VcudaModuleLoad::decode(&encoded(&load)), Err(DecodeError::Range));
}

#[test]
fn an_array_is_made_of_whole_elements_that_decode() {
    let mut writer = Writer::new();
    writer.bytes(&[0; 71]);
    let array = Reader::new(writer.as_bytes()).array::<LaunchAttribute>(9).map(|a| a.len());
    assert_eq!(array, Err(DecodeError::Range));
    let mut bytes = vec![0; 72];
    bytes[4] = 1;
    let mut writer = Writer::new();
    writer.bytes(&bytes);
    let array = Reader::new(writer.as_bytes()).array::<LaunchAttribute>(9).map(|a| a.len());
    assert_eq!(array, Err(DecodeError::Range), "the id has more than 32 bits");
}

#[test]
fn names_decode_as_encoded_and_must_be_terminated() {
    let mut names = Names::default();
    names.push(c"one");
    names.push(c"two");
    answer_comes_back(VcudaLibraryKernelNamesAnswer { names: names.clone() });
    assert_eq!(names.iter().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(Names::from_bytes(b"one\0tw"), Err(DecodeError::Range));
    assert_eq!(Names::from_bytes(b"\xff\0"), Err(DecodeError::Range));
}
